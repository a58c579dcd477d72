"use strict";
// Once a second the sections of the page are fetched anew, and those that have
// changed are put in, except the one in which somebody has marked text or holds the
// focus: what he works with must not move under his hands.
(() => {
  const live = document.getElementById("live");
  const lost = document.getElementById("lost");
  const pause = document.getElementById("pause");
  const shown = new Map([...live.children].map((s) => [s.id, s.innerHTML]));
  let paused = false, failures = 0;

  function busy(section) {
    const selection = getSelection();
    return section.contains(document.activeElement) ||
      (!selection.isCollapsed && section.contains(selection.anchorNode));
  }

  // keep carries over what the reader has opened and scrolled to.
  function keep(before, after) {
    for (const d of before.querySelectorAll("details[open]")) {
      const same = after.querySelector("#" + d.id);
      if (same) same.open = true;
    }
    return [...before.querySelectorAll(".scroll")].map((s) => [s.getAttribute("aria-label"), s.scrollLeft, s.scrollTop]);
  }

  function put(html) {
    const fresh = document.createElement("template");
    fresh.innerHTML = html;
    for (const old of [...live.children]) {
      if (!fresh.content.getElementById(old.id)) old.remove();
    }
    let place = null;
    for (const next of [...fresh.content.children]) {
      const old = document.getElementById(next.id);
      if (!old) {
        place ? place.after(next) : live.prepend(next);
        place = next;
        continue;
      }
      place = old;
      const html = next.innerHTML;
      if (shown.get(old.id) === html || busy(old)) continue;
      const scrolled = keep(old, next);
      old.replaceChildren(...next.childNodes);
      shown.set(old.id, html);
      for (const s of old.querySelectorAll(".scroll")) {
        const was = scrolled.find(([label]) => label === s.getAttribute("aria-label"));
        if (was) [, s.scrollLeft, s.scrollTop] = was;
      }
    }
  }

  async function refresh() {
    if (paused || document.hidden) return;
    try {
      const query = new URLSearchParams(location.search);
      query.set("format", "live");
      const answer = await fetch("?" + query, { cache: "no-store" });
      if (!answer.ok) throw new Error("status " + answer.status);
      put(await answer.text());
      failures = 0;
      lost.hidden = true;
    } catch (e) {
      failures++;
      lost.textContent = "No answer from the service (" + e.message + "): what you see is old.";
      lost.hidden = false;
    }
  }

  pause.hidden = false;
  pause.addEventListener("click", () => {
    paused = !paused;
    pause.textContent = paused ? "Go on" : "Pause";
    pause.setAttribute("aria-pressed", paused);
  });
  document.addEventListener("visibilitychange", refresh);
  (async () => {
    for (;;) {
      await new Promise((done) => setTimeout(done, 1000 * Math.min(1 + failures, 10)));
      await refresh();
    }
  })();
})();
