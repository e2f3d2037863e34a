/** One word of an entry with the escapes it has in the file, without the quotes that may be around it. */
export type Word = string;

/** One entry of a zone file: a line, or several that parentheses hold together. */
export type Entry = {
  /** Where it begins; the first line is 1. */
  line: number;
  /** The line where it begins. */
  text: string;
  words: Word[];
  /** Whether it begins with a name; one that begins with a blank belongs to the name before it. */
  hasName: boolean;
  /** Why the words are not all there are. */
  fault?: string;
};

/** What none of the other groups takes is a quotation mark or backslash by itself. */
const pieces =
  /\s+|;[^]*|(?<open>\()|(?<close>\))|"(?<quoted>(?:[^"\\]|\\[^])*)"|(?<plain>(?:[^\s();"\\]|\\[^])+)|(?<stray>[^])/gu;

/** Reads a line into the words of its entry; answers how many parentheses are open after it. */
function readLine(line: string, words: Word[], openBefore: number): { open: number; fault?: string } {
  let open = openBefore;
  for (const { groups = {} } of line.matchAll(pieces)) {
    const word = groups["quoted"] ?? groups["plain"];
    if (word !== undefined) words.push(word);
    if (groups["open"] !== undefined) open += 1;
    if (groups["close"] !== undefined) open -= 1;
    if (open < 0) return { open, fault: "A parenthesis is closed that was not opened" };
    if (groups["stray"] === '"') return { open, fault: "A quotation mark is not closed in its line" };
    if (groups["stray"] !== undefined) return { open, fault: "There is nothing after a backslash" };
  }
  return { open };
}

/**
 * Takes a zone file apart (RFC 1035 §5.1): comments, quotes, escapes and parentheses. An entry with a fault ends with
 * the line of the fault and has the words before it.
 */
export function* entriesOf(file: string): Generator<Entry> {
  let entry: Entry | undefined;
  let open = 0;
  for (const [index, text] of file
    .replace(/^\ufeff/, "")
    .split(/\r\n|\r|\n/)
    .entries()) {
    entry ??= { line: index + 1, text, words: [], hasName: /^\S/.test(text) };
    const read = readLine(text, entry.words, open);
    const hasEnded = read.open === 0 || read.fault !== undefined;
    open = hasEnded ? 0 : read.open;
    if (!hasEnded) continue;
    if (read.fault !== undefined) yield { ...entry, fault: read.fault };
    else if (entry.words.length > 0) yield entry;
    entry = undefined;
  }
  if (entry) yield { ...entry, fault: "A parenthesis is never closed, so that this entry has no end" };
}
