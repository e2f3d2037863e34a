/**
 * The records of a CSV file (RFC 4180). Throws for a quote inside a bare cell, an open quote, or a line end that is not
 * CRLF.
 */
export function readCsv(text: string): string[][] {
  const records: string[][] = [];
  let at = 0;
  while (at < text.length) {
    const record: string[] = [];
    for (;;) {
      const cell = cellAt(text, at);
      record.push(cell.value);
      at = cell.end;
      if (text[at] !== ",") break;
      at++;
    }
    if (!text.startsWith("\r\n", at)) throw new Error(`no line end at ${at}: ${text.slice(at, at + 20)}`);
    at += 2;
    records.push(record);
  }
  return records;
}

function cellAt(text: string, from: number): { value: string; end: number } {
  const pattern = text[from] === '"' ? /"((?:[^"]|"")*)"/y : /([^",\r\n]*)/y;
  pattern.lastIndex = from;
  const found = pattern.exec(text);
  if (!found) throw new Error(`a cell does not end: ${text.slice(from, from + 20)}`);
  return { value: (found[1] ?? "").replaceAll('""', '"'), end: pattern.lastIndex };
}
