import * as z from "zod";

/** The query parameters of every list. */
export const pageQuery = {
  page: z.int().min(1).default(1).meta({ description: "The number of the page, from 1." }),
  page_size: z.int().min(1).max(100).default(25).meta({ description: "The maximum number of items on a page." }),
};
export type PageQuery = { page: number; page_size: number };

/** The envelope of every list: one page, and the exact number of all items the caller may see. */
export const pageOf = <T extends z.ZodType>(item: T, noun: string) =>
  z.object({
    items: z.array(item).meta({ description: `The ${noun} on this page.` }),
    page: z.int().min(1).meta({ description: "The number of this page, from 1." }),
    page_size: z.int().min(1).max(100).meta({ description: "The maximum number of items on a page." }),
    total: z
      .int()
      .min(0)
      .meta({ description: `The exact number of ${noun} that match and that the caller can see.` }),
  });

/**
 * The positions that a page covers. `skip` is limited to safe integers. No list is so long, so a page beyond it is
 * empty.
 */
export const spanOf = ({ page, page_size }: PageQuery): { skip: number; take: number } => ({
  skip: Math.min((page - 1) * page_size, Number.MAX_SAFE_INTEGER - page_size),
  take: page_size,
});

/** A sequence of rows, any part of which can be read. */
export type RowSource<T> = { total: number; read: (skip: number, take: number) => Promise<T[]> };

export const totalOf = (sources: readonly Pick<RowSource<unknown>, "total">[]): number =>
  sources.reduce((sum, { total }) => sum + total, 0);

/** Reads a part of several sources as if they were one. */
export async function readConcatenated<T>(sources: readonly RowSource<T>[], skip: number, take: number): Promise<T[]> {
  const found: T[] = [];
  let before = 0;
  for (const { total, read } of sources) {
    const from = Math.max(0, skip + found.length - before);
    const wanted = Math.min(take - found.length, total - from);
    if (wanted > 0) found.push(...(await read(from, wanted)));
    before += total;
    if (found.length >= take) break;
  }
  return found;
}
