import { chosenMutant, noteReached } from "./choice.ts";

/*
 * Every source with switches imports this module of its copy of the project. So every process that runs such a source
 * knows the chosen mistake, and notes the mistakes whose code has run. This includes the processes that a test starts.
 */
declare global {
  var isMutant: (id: number) => boolean;
}

const folder = import.meta.dirname;
let chosen = chosenMutant(folder);
const reached = new Set<number>();

globalThis.isMutant = (id) => {
  if (!reached.has(id)) {
    reached.add(id);
    noteReached(folder, id);
  }
  return id === chosen;
};

/** Reads the chosen mistake again, and forgets the mistakes whose code has run. */
export function beginAgain(): void {
  chosen = chosenMutant(folder);
  reached.clear();
}
