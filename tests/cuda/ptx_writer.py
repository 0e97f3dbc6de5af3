"""PTX records back to text, so that an assembler can say whether reading them lost anything."""

from __future__ import annotations

from collections.abc import Iterator

from perfmodel.cuda.parse.syntax import (
    Address,
    Arguments,
    Component,
    FloatImmediate,
    Function,
    Guard,
    Immediate,
    Instruction,
    Label,
    Module,
    Negated,
    Operand,
    Pair,
    Parameter,
    Register,
    RegisterDeclaration,
    Sink,
    SpecialRegister,
    Symbol,
    Variable,
    Vector,
)


def write_module(module: Module) -> str:
    """Return PTX without debug information that means what the module says."""
    version = ".".join(map(str, module.version))
    lines = [f".version {version}", f".target {module.target}", ".address_size 64"]
    lines += [_variable(v) for v in module.variables]
    for function in module.functions:
        lines += _function(function)
    return "\n".join(lines) + "\n"


def _name(name: str) -> str:
    return name.replace("@", "$inner")


def _variable(variable: Variable) -> str:
    linkage = f".{variable.linkage} " if variable.linkage else ""
    lanes = f".v{variable.lanes} " if variable.lanes > 1 else ""
    shape = "".join(f"[{'' if n is None else n}]" for n in variable.shape)
    values = ""
    if variable.values is not None:
        inside = ", ".join(map(str, variable.values))
        values = f" = {{{inside}}}" if variable.shape else f" = {inside}"
    return (
        f"{linkage}.{variable.space} .align {variable.alignment} {lanes}.{variable.type} "
        f"{_name(variable.name)}{shape}{values};"
    )


def _parameter(parameter: Parameter) -> str:
    pointer = " .ptr" if parameter.pointer else ""
    count = "" if parameter.count is None else f"[{parameter.count}]"
    aligned_as = f".align {parameter.alignment} " if parameter.count is not None else ""
    return f".{parameter.space} {aligned_as}.{parameter.type}{pointer} {parameter.name}{count}"


def _function(function: Function) -> Iterator[str]:
    linkage = f".{function.linkage} " if function.linkage else ""
    results = f" ({', '.join(map(_parameter, function.results))})" if function.results else ""
    given = ", ".join(map(_parameter, function.parameters))
    kind = ".entry" if function.kernel else ".func"
    yield f"{linkage}{kind}{results} {function.name}({given})"
    for directive, numbers in function.directives.items():
        yield f".{directive} {', '.join(map(str, numbers))}"
    if not function.defined:
        yield ";"
        return
    yield "{"
    yield from (_registers(r) for r in function.registers)
    yield from (_variable(v) for v in function.variables)
    for name, labels in function.branch_tables.items():
        yield f"{_name(name)}: .branchtargets {', '.join(map(_name, labels))};"
    places: dict[int, list[str]] = {}
    for label, index in function.labels.items():
        places.setdefault(index, []).append(f"{_name(label)}:")
    for index, pragma in function.pragmas:
        places.setdefault(index, []).append(f'.pragma "{pragma}";')
    for index, instruction in enumerate(function.instructions):
        yield from places.get(index, [])
        yield _instruction(instruction)
    yield from places.get(len(function.instructions), [])
    yield "}"


def _registers(declared: RegisterDeclaration) -> str:
    lanes = f".v{declared.lanes} " if declared.lanes > 1 else ""
    if declared.count is None:
        suffix = f"$inner{declared.scope}" if declared.scope else ""
        return f".reg {lanes}.{declared.type} {declared.name}{suffix};"
    if not declared.scope:
        return f".reg {lanes}.{declared.type} {declared.name}<{declared.count}>;"
    names = (f"{declared.name}{i}$inner{declared.scope}" for i in range(declared.count))
    return f".reg {lanes}.{declared.type} {', '.join(names)};"


def _guard(guard: Guard | None) -> str:
    if guard is None:
        return ""
    return f"@{'!' if guard.negated else ''}{_name(guard.register.name)} "


def _instruction(instruction: Instruction) -> str:
    operands = ", ".join(_operand(o, instruction) for o in instruction.operands)
    return f"{_guard(instruction.guard)}{instruction.name} {operands};"


def _operand(operand: Operand, at: Instruction) -> str:
    match operand:
        case Register() | SpecialRegister() | Label():
            return _name(operand.name)
        case Symbol():
            return _name(operand.name) + (f"+{operand.offset}" if operand.offset else "")
        case Component():
            return f"{_name(operand.register.name)}.{operand.part}"
        case Immediate():
            return str(operand.value)
        case FloatImmediate():
            return f"0{'f' if operand.width == 32 else 'd'}{operand.bits:0{operand.width // 4}X}"
        case Sink():
            return "_"
        case Vector():
            return f"{{{', '.join(_operand(e, at) for e in operand.elements)}}}"
        case Arguments():
            return f"({', '.join(_operand(e, at) for e in operand.elements)})"
        case Pair():
            return f"{_operand(operand.first, at)}|{_operand(operand.second, at)}"
        case Negated():
            return f"!{_operand(operand.operand, at)}"
        case Address():
            offset = f"+{operand.offset}" if operand.offset else ""
            coordinates = ", ".join(_operand(c, at) for c in operand.coordinates)
            inside = f", {{{coordinates}}}" if operand.coordinates else ""
            return f"[{_operand(operand.base, at)}{offset}{inside}]"
