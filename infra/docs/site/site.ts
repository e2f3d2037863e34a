import { element } from "../playground/dom.ts";
import { openStorage } from "./storage.ts";

/** Copies a text. For two seconds the button shows whether this succeeded. Screen readers read the same word. */
async function copy(text: string, button: HTMLButtonElement, heard: HTMLElement): Promise<void> {
  const show = (shown: string, told = shown): void => {
    button.textContent = shown;
    heard.textContent = told;
  };
  try {
    await navigator.clipboard.writeText(text);
    show("Copied");
  } catch {
    show("Not copied");
  }
  setTimeout(() => show("Copy", ""), 2_000);
}

/**
 * Gives each block of code a button that copies the code. Adds no buttons if the browser has no clipboard for pages.
 */
function addCopyButtons(): void {
  if (!navigator.clipboard) return;
  const heard = element("p", { className: "heard", role: "status" });
  document.body.append(heard);
  for (const pre of document.querySelectorAll("main pre")) {
    const text = (pre.textContent ?? "").trimEnd();
    const button = element("button", { type: "button", textContent: "Copy" });
    button.ariaLabel = `Copy: ${text.replaceAll(/\s+/g, " ").slice(0, 60)}`;
    button.addEventListener("click", () => void copy(text, button, heard));
    const wrapper = element("div", { className: "copied" });
    pre.replaceWith(wrapper);
    wrapper.append(pre, button);
  }
}

const blockNames: Record<string, string> = { PRE: "Code", DIV: "Table", SPAN: "Picture" };

/**
 * Lets the keyboard stop only at blocks that scroll, and names these blocks. Without this script, the keyboard stops at
 * all blocks.
 */
function nameScrolledBlocks(): void {
  const observer = new ResizeObserver((changes) => {
    for (const { target } of changes) {
      const scrolls = target.scrollWidth > target.clientWidth || target.scrollHeight > target.clientHeight;
      const name = blockNames[target.tagName] ?? "";
      for (const [attribute, value] of Object.entries({ tabindex: "0", role: "group", "aria-label": name })) {
        if (scrolls) target.setAttribute(attribute, value);
        else target.removeAttribute(attribute);
      }
    }
  });
  for (const block of document.querySelectorAll("main :is(pre, .table, .picture)")) observer.observe(block);
}

/** The key under which the browser's storage keeps the chosen language. */
const languageKey = "language";

const storage = openStorage(() => localStorage);

type Tab = { key: string; button: HTMLButtonElement; panel: HTMLElement };

/**
 * Turns the sections of a group into tabs, with arrow keys, Home and End as in WAI-ARIA's pattern. Returns a function
 * that shows the tab of a language.
 */
function makeTabs(group: HTMLElement, number: number, choose: (key: string) => void): (key: string | null) => void {
  const list = element("div", { className: "tab-list", role: "tablist" });
  list.setAttribute("aria-label", "Language");
  const tabs = [...group.querySelectorAll<HTMLElement>(":scope > section")].map((panel, index): Tab => {
    const button = element("button", { type: "button", id: `tab-${number}-${index}`, role: "tab" });
    const heading = panel.querySelector("h4");
    button.textContent = heading?.textContent ?? "";
    // On the screen, the tab takes the place of the panel's heading. On paper, the style sheet shows all hidden
    // headings and panels instead of the tabs.
    if (heading) heading.hidden = true;
    panel.id = `panel-${number}-${index}`;
    panel.role = "tabpanel";
    panel.setAttribute("aria-labelledby", button.id);
    button.setAttribute("aria-controls", panel.id);
    return { key: panel.dataset["tab"] ?? "", button, panel };
  });
  list.append(...tabs.map(({ button }) => button));
  group.prepend(list);
  const show = (key: string | null): void => {
    const shown = tabs.find((tab) => tab.key === key) ?? tabs[0];
    for (const { button, panel } of tabs) {
      const isShown = panel === shown?.panel;
      panel.hidden = !isShown;
      button.ariaSelected = String(isShown);
      button.tabIndex = isShown ? 0 : -1;
    }
  };
  for (const { key, button } of tabs) button.addEventListener("click", () => choose(key));
  list.addEventListener("keydown", (event) => {
    const at = tabs.findIndex(({ button }) => button === document.activeElement);
    const last = tabs.length - 1;
    const targets: Record<string, number> = {
      ArrowRight: at === last ? 0 : at + 1,
      ArrowLeft: at === 0 ? last : at - 1,
      Home: 0,
      End: last,
    };
    const tab = tabs[targets[event.key] ?? -1];
    if (!tab) return;
    event.preventDefault();
    choose(tab.key);
    tab.button.focus();
  });
  return show;
}

/** Turns all groups of samples into tabs. A chosen language holds for all groups, and for other pages. */
function addTabs(): void {
  const shows: ((key: string | null) => void)[] = [];
  const choose = (key: string): void => {
    storage.set(languageKey, key);
    for (const show of shows) show(key);
  };
  for (const [number, group] of document.querySelectorAll<HTMLElement>(".tabs").entries()) {
    shows.push(makeTabs(group, number, choose));
  }
  for (const show of shows) show(storage.get(languageKey));
}

/** The id in the address's fragment. */
function fragment(): string {
  try {
    return decodeURIComponent(location.hash.slice(1));
  } catch {
    return location.hash.slice(1);
  }
}

/** Opens the collapsed sections around the element in the address's fragment. */
function openTarget(): void {
  const target = document.getElementById(fragment());
  if (target instanceof HTMLDetailsElement) target.open = true;
  for (let outer = target?.closest("details"); outer; outer = outer.parentElement?.closest("details"))
    outer.open = true;
}

/** The distance from the top of the window within which a heading counts as the one that is read, in pixels. */
const readingPx = 120;

/** Marks the section at the top of the window in the table of contents. */
function followSections(): void {
  const links = new Map(
    [...document.querySelectorAll<HTMLAnchorElement>(".contents a")].map((link) => [link.hash.slice(1), link]),
  );
  if (links.size === 0) return;
  const headings = [...document.querySelectorAll<HTMLElement>("article h2[id]")];
  const mark = (): void => {
    const read = headings.findLast((heading) => heading.getBoundingClientRect().top < readingPx);
    for (const [id, link] of links) link.toggleAttribute("data-read", id === read?.id);
  };
  document.addEventListener("scroll", mark, { passive: true });
  mark();
}

/** Opens the search. Loads the script of the search at the first use. */
async function openFinder(button: HTMLButtonElement): Promise<void> {
  // The path is a variable. With a literal path, the bundle would contain the script of the search.
  const script = "/docs/search.js";
  const label = button.querySelector("span") ?? button;
  try {
    const { openSearch } = (await import(script)) as { openSearch: () => void };
    label.textContent = "Search";
    openSearch();
  } catch {
    label.textContent = "The search did not load. Reload the page.";
  }
}

/** Makes the search button and Ctrl-K open the search. */
function addSearch(): void {
  const button = document.querySelector<HTMLButtonElement>("#find");
  if (!button) return;
  button.hidden = false;
  button.addEventListener("click", () => void openFinder(button));
  document.addEventListener("keydown", (event) => {
    const isFind = event.key === "k" && (event.ctrlKey || event.metaKey);
    if (!isFind || event.defaultPrevented || document.querySelector("dialog[open]")) return;
    event.preventDefault();
    void openFinder(button);
  });
}

/** Scrolls the list of pages to the current page. */
function showInNav(): void {
  const nav = document.querySelector(".pages");
  const here = nav?.querySelector<HTMLElement>("[aria-current]");
  if (!nav || !here) return;
  const { top, bottom } = nav.getBoundingClientRect();
  const place = here.getBoundingClientRect();
  if (place.bottom > bottom) nav.scrollTop += place.top - (top + bottom) / 2;
}

addTabs();
addCopyButtons();
nameScrolledBlocks();
addSearch();
openTarget();
window.addEventListener("hashchange", openTarget);
followSections();
showInNav();
