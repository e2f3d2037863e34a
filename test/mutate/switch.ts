/*
 * The process that runs the tests loads this module before anything else. The module knows the chosen mistake, and
 * notes the mistakes whose code has run.
 */
declare global {
  var isMutant: (id: number) => boolean;
}

export type Switch = { mutant: number | undefined };
export type Reached = { reached: number[] };

let chosen: number | undefined;
const reached = new Set<number>();

globalThis.isMutant = (id) => {
  reached.add(id);
  return id === chosen;
};

process.on("message", (message: object) => {
  if (!("mutant" in message)) return;
  chosen = (message as Switch).mutant;
  process.send?.({ reached: [...reached] } satisfies Reached);
  reached.clear();
});
