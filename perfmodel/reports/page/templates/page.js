"use strict";
// Tooltips for marks in pictures, by pointer and by keyboard; a button that opens all derivations.
(() => {
  const tip = document.getElementById("tip");
  const place = (x, y) => {
    const box = tip.getBoundingClientRect();
    const left = Math.min(Math.max(8, x - box.width / 2), innerWidth - box.width - 8);
    const above = y - box.height - 14;
    tip.style.left = `${left}px`;
    tip.style.top = `${above < 8 ? y + 18 : above}px`;
  };
  const show = (mark, x, y) => {
    tip.textContent = mark.getAttribute("aria-label");
    tip.hidden = false;
    place(x, y);
    const launch = mark.dataset.launch;
    const picture = mark.closest("svg");
    picture.classList.toggle("choosing", launch !== undefined);
    picture.querySelectorAll(`[data-launch="${launch}"]`).forEach((one) => one.classList.add("chosen"));
  };
  const hide = () => {
    tip.hidden = true;
    document.querySelectorAll("svg.choosing").forEach((svg) => svg.classList.remove("choosing"));
    document.querySelectorAll(".chosen").forEach((one) => one.classList.remove("chosen"));
  };
  const showFocused = (mark) => {
    const box = mark.getBoundingClientRect();
    hide();
    show(mark, box.x + box.width / 2, box.y);
  };
  // One stop of Tab for each picture; arrow keys go from mark to mark.
  const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
  document.querySelectorAll("svg.picture").forEach((picture) => {
    const marks = [...picture.querySelectorAll(".mark")];
    const stop = (at) => marks.forEach((mark, i) => { mark.tabIndex = i === at ? 0 : -1; });
    stop(0);
    picture.addEventListener("keydown", (e) => {
      const next = marks.indexOf(document.activeElement) + step[e.key];
      if (!(next >= 0 && next < marks.length)) return;
      e.preventDefault();
      stop(next);
      marks[next].focus();
    });
  });
  document.querySelectorAll("svg.picture .mark").forEach((mark) => {
    // The browser's own tooltip would come up beside this one.
    mark.querySelector("title").remove();
    mark.addEventListener("pointerenter", (e) => { hide(); show(mark, e.clientX, e.clientY); });
    mark.addEventListener("pointermove", (e) => place(e.clientX, e.clientY));
    mark.addEventListener("pointerleave", hide);
    mark.addEventListener("focus", () => showFocused(mark));
    mark.addEventListener("blur", hide);
  });
  addEventListener("keydown", (e) => { if (e.key === "Escape") hide(); });
  // What is focused may have been scrolled into view just now.
  addEventListener("scroll", () => {
    const focused = document.activeElement;
    if (!tip.hidden && focused.matches(".mark")) showFocused(focused); else hide();
  }, { passive: true });
  const button = document.getElementById("open-all");
  button.parentElement.hidden = false;
  button.addEventListener("click", () => {
    const all = [...document.querySelectorAll("details.derivation")];
    const open = all.some((one) => !one.open);
    all.forEach((one) => { one.open = open; });
    button.textContent = open ? "Close every derivation" : "Open every derivation";
  });
})();
