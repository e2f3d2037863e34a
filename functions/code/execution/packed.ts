import { promisify } from "node:util";
import { brotliCompress, brotliDecompress, constants } from "node:zlib";

import * as z from "zod";

/** A text as it is stored: as it is, or Brotli (RFC 7932) in base64. */
const Packed = z.union([z.object({ text: z.string() }), z.object({ brotli: z.string() })]);
export type Packed = z.output<typeof Packed>;

const compress = promisify(brotliCompress);
const decompress = promisify(brotliDecompress);

/** Below this a text is stored as it is. */
const plainChars = 700;
/** An item of the table holds 400 KB. */
const packedLimitChars = 380_000;

/** An envelope says much twice, far apart: the window is wide enough to see both. */
const options = { params: { [constants.BROTLI_PARAM_QUALITY]: 5, [constants.BROTLI_PARAM_LGWIN]: 22 } };

/** Packs a text for one item of the table; undefined where it does not fit into one. */
export async function pack(text: string): Promise<Packed | undefined> {
  if (text.length <= plainChars) return { text };
  const brotli = (await compress(text, options)).toString("base64");
  return brotli.length <= packedLimitChars ? { brotli } : undefined;
}

/** The text that was packed. */
export async function unpack(stored: unknown): Promise<string> {
  const packed = Packed.parse(stored);
  return "text" in packed ? packed.text : (await decompress(Buffer.from(packed.brotli, "base64"))).toString();
}
