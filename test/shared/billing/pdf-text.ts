import { inflateSync } from "node:zlib";

type Piece = { text: string; x: number; y: number; font: string };

/** The objects of a PDF that pdfkit wrote, by number, with their inflated streams. */
function objectsOf(pdf: Buffer): Map<string, { head: string; stream: string }> {
  const bytes = pdf.toString("latin1");
  const found = bytes.matchAll(/(\d+) 0 obj\n(.*?)(?:\nstream\n(.*?)\nendstream)?\nendobj/gs);
  return new Map(
    [...found].map(([, id = "", head = "", stream]) => [
      id,
      { head, stream: stream === undefined ? "" : inflateSync(Buffer.from(stream, "latin1")).toString("latin1") },
    ]),
  );
}

/** The character of each glyph of a font, from the font's ToUnicode map. */
function charactersOf(map: string): Map<number, string> {
  const characters = new Map<number, string>();
  for (const [, first = "", list = ""] of map.matchAll(/<(\w+)> <\w+> \[(.*?)\]/g)) {
    for (const [index, [, units = ""]] of [...list.matchAll(/<([\w ]*)>/g)].entries()) {
      const text = Buffer.from(units.replaceAll(" ", ""), "hex").swap16().toString("utf16le");
      characters.set(Number.parseInt(first, 16) + index, text);
    }
  }
  return characters;
}

/**
 * The texts on each page of a PDF that pdfkit wrote, in their order, with their places in points from the lower left.
 */
export function piecesOf(pdf: Buffer): Piece[][] {
  const objects = objectsOf(pdf);
  const objectOf = (id: string | undefined) => objects.get(id ?? "") ?? { head: "", stream: "" };
  const pages = [...objects.values()].filter(({ head }) => head.includes("/Type /Page\n"));
  return pages.map(({ head }) => {
    const referenced = (name: string) => objectOf(new RegExp(`/${name} (\\d+) 0 R`).exec(head)?.[1]);
    const fontNames = referenced("Resources").head.matchAll(/\/(F\d+) (\d+) 0 R/g);
    const fonts = new Map(
      [...fontNames].map(([, name = "", id]) => {
        const mapId = /\/ToUnicode (\d+) 0 R/.exec(objectOf(id).head)?.[1];
        return [name, charactersOf(objectOf(mapId).stream)] as const;
      }),
    );
    const drawn = referenced("Contents").stream.matchAll(/1 0 0 1 (\S+) (\S+) Tm\n\/(F\d+) \S+ Tf\n(.*?)\nET/gs);
    return [...drawn].map(([, x, y, font = "", shown = ""]) => {
      const glyphs = [...shown.matchAll(/<(\w+)>/g)].flatMap(([, hex = ""]) => hex.match(/.{4}/g) ?? []);
      const text = glyphs.map((glyph) => fonts.get(font)?.get(Number.parseInt(glyph, 16)) ?? "").join("");
      return { text: text.trim(), x: Number(x), y: Number(y), font };
    });
  });
}

export const textsOf = (pdf: Buffer): string[][] => piecesOf(pdf).map((pieces) => pieces.map(({ text }) => text));
