"""A `Kernel` as models take it, made of what following and emulating PTX found (`translate`)."""
