export type Trace = { note: (line: string) => void; digest: () => number; tail: readonly string[] };

const tailLength = 60;
const timeOrderedId = /([\da-f]{8})-[\da-f]{4}-7[\da-f]{3}-[\da-f]{4}-[\da-f]{12}/g;
/** Ids with an ordinal, and ids made from an idempotency key. Both have random parts. */
const randomId = /[\da-f]{8}-[\da-f]{4}-8[\da-f]{3}-[\da-f]{4}-[\da-f]{12}/g;

/** The trace of a schedule, line by line. `tail` has the last lines. The digest is the same for the same seed. */
export function createTrace(print?: (line: string) => void): Trace {
  const tail: string[] = [];
  let digest = 0;
  return {
    tail,
    digest: () => digest,
    note: (line) => {
      digest = digestOf(digest, line);
      tail.push(line);
      if (tail.length > tailLength) tail.shift();
      print?.(line);
    },
  };
}

/** Adds a line to a digest (FNV-1a). Of an id, only the time counts, because the rest does not come from the seed. */
function digestOf(digest: number, line: string): number {
  const same = line.replaceAll(timeOrderedId, "$1").replaceAll(randomId, "id");
  let hash = digest ^ 0x811c9dc5;
  for (let index = 0; index < same.length; index++) hash = Math.imul(hash ^ same.charCodeAt(index), 0x01000193);
  return hash >>> 0;
}
