import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";

import type { Font } from "fontkit";

declare global {
  namespace PDFKit.Mixins {
    interface PDFFont {
      /** pdfkit accepts a parsed font from version 0.20 on, but its types lack this overload. */
      registerFont(name: string, font: Font): this;
    }
  }
}

/** The font files of invoices, below `node_modules`. A bundle has these files in a `node_modules` beside it. */
export const invoiceFontFiles = {
  regular: "@expo-google-fonts/noto-sans/400Regular/NotoSans_400Regular.ttf",
  bold: "@expo-google-fonts/noto-sans/600SemiBold/NotoSans_600SemiBold.ttf",
} as const;

type InvoiceFonts = Record<keyof typeof invoiceFontFiles, Font>;

let loaded: Promise<InvoiceFonts> | undefined;

/** The fonts, parsed once for each process, because parsing takes a quarter of a second. */
export const invoiceFonts = (): Promise<InvoiceFonts> => (loaded ??= load());

async function load(): Promise<InvoiceFonts> {
  const [regular, bold] = await Promise.all([parseFont(invoiceFontFiles.regular), parseFont(invoiceFontFiles.bold)]);
  return { regular, bold };
}

async function parseFont(file: string): Promise<Font> {
  const [{ create }, bytes] = await Promise.all([
    import("fontkit"),
    readFile(createRequire(import.meta.url).resolve(file)),
  ]);
  const font = create(bytes);
  if (!("hasGlyphForCodePoint" in font)) throw new Error(`${file} is not one font.`);
  return font;
}

const graphemes = new Intl.Segmenter("en", { granularity: "grapheme" });

/** Characters without a shape of their own: joiners, direction marks, variation selectors. */
const formatting = /[\p{Cf}\p{Variation_Selector}]/gu;

/** A text in one line, with U+FFFD for every grapheme without a shape in the font. */
export function legible(text: string, font: Font): string {
  const line = text.normalize("NFC").replaceAll(/\s+/g, " ").trim();
  return Array.from(graphemes.segment(line), ({ segment }) => {
    const visible = segment.replaceAll(formatting, "");
    const hasShape = Array.from(visible).every(
      (character) => !/\p{Cc}/u.test(character) && font.hasGlyphForCodePoint(character.codePointAt(0) ?? 0),
    );
    return hasShape ? visible : "\u{FFFD}";
  }).join("");
}
