// The tabs, each loaded when first shown.

const tabs = [...document.querySelectorAll("[role=tab]")];
const shown = new Set();

const nameOf = (tab) => tab.id.replace("tab-", "");

async function show(tab) {
  for (const other of tabs) {
    other.setAttribute("aria-selected", String(other === tab));
    other.tabIndex = other === tab ? 0 : -1;
    document.getElementById(other.getAttribute("aria-controls")).hidden = other !== tab;
  }
  const name = nameOf(tab);
  history.replaceState(null, "", `#${name}`);
  tab.scrollIntoView({ block: "nearest", inline: "nearest" });
  if (shown.has(name)) return;
  shown.add(name);
  const { open } = await import(`./${name}.js`);
  await open(document.getElementById(`${name}-panel`));
}

for (const [i, tab] of tabs.entries()) {
  tab.addEventListener("click", () => show(tab));
  tab.addEventListener("keydown", (event) => {
    const to = { ArrowRight: i + 1, ArrowLeft: i - 1, Home: 0, End: tabs.length - 1 }[event.key];
    if (to === undefined) return;
    const next = tabs[(to + tabs.length) % tabs.length];
    next.focus();
    show(next);
    event.preventDefault();
  });
}
show(tabs.find((tab) => `#${nameOf(tab)}` === location.hash) ?? tabs[0]);
