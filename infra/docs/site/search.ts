import MiniSearch from "minisearch";

import { element } from "../playground/dom.ts";
import { bestResults, type SearchResult, indexOptions } from "./terms.ts";

let index: Promise<MiniSearch<SearchResult>> | undefined;

async function loadIndex(): Promise<MiniSearch<SearchResult>> {
  const answer = await fetch("/docs/search.json");
  if (!answer.ok) throw new Error(`The search index answers ${answer.status}.`);
  return MiniSearch.loadJSON<SearchResult>(await answer.text(), indexOptions);
}

const input = element("input", { type: "text", id: "find-words", placeholder: "Search the docs and operations" });
input.setAttribute("autocomplete", "off");
input.setAttribute("aria-label", "Search");
input.setAttribute("role", "combobox");
input.setAttribute("aria-expanded", "false");
input.setAttribute("aria-controls", "find-results");
const list = element("div", { id: "find-results", role: "listbox" });
list.setAttribute("aria-label", "Results");
const status = element("p", { className: "find-status" });
status.setAttribute("role", "status");
const close = element("button", { type: "button", textContent: "Close" });
const head = element("div", { className: "find-words" }, input, close);
const dialog = element("dialog", { className: "finder" }, head, list, status);
dialog.setAttribute("aria-label", "Search");

let chosen = 0;

/** Marks a result as chosen. Enter opens the chosen result. */
function choose(at: number): void {
  const options = [...list.children] as HTMLElement[];
  chosen = Math.max(0, Math.min(at, options.length - 1));
  for (const [position, option] of options.entries()) option.ariaSelected = String(position === chosen);
  const option = options[chosen];
  option?.scrollIntoView({ block: "nearest" });
  input.setAttribute("aria-activedescendant", option?.id ?? "");
}

function optionFor({ title, section, path, kind }: SearchResult, position: number): HTMLAnchorElement {
  const words = element("strong", { textContent: section || title });
  const place = element("small", { textContent: section ? `${title} · ${kind}` : kind });
  const option = element("a", { id: `find-${position}`, href: path, role: "option", tabIndex: -1 }, words, place);
  option.addEventListener("click", () => dialog.close());
  option.addEventListener("mousemove", () => position !== chosen && choose(position));
  return option;
}

function countText(count: number): string {
  if (count === 0) return "Nothing found.";
  return count === 1 ? "1 result" : `${count} results`;
}

async function showResults(): Promise<void> {
  const words = input.value.trim();
  try {
    index ??= loadIndex();
    const results = words === "" ? [] : bestResults(await index, words);
    // If the reader has changed the words while the index was loading, these results are for the old words.
    if (input.value.trim() !== words) return;
    list.replaceChildren(...results.map(optionFor));
    input.setAttribute("aria-expanded", String(results.length > 0));
    status.textContent = words === "" ? "Type a question or a name." : countText(results.length);
    choose(0);
  } catch {
    index = undefined;
    status.textContent = "The search could not be loaded. Try again.";
  }
}

input.addEventListener("input", () => void showResults());
input.addEventListener("keydown", (event) => {
  const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1 };
  const step = steps[event.key];
  if (step !== undefined) {
    event.preventDefault();
    choose(chosen + step);
  } else if (event.key === "Enter") {
    event.preventDefault();
    (list.children[chosen] as HTMLElement | undefined)?.click();
  }
});
close.addEventListener("click", () => dialog.close());
// A click beside the dialog closes the dialog. The browser reports such a click as a click on the dialog itself.
dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());

/** Opens the search dialog. The text of the last query is selected. */
export function openSearch(): void {
  if (!dialog.isConnected) document.body.append(dialog);
  dialog.showModal();
  input.select();
  void showResults();
}
