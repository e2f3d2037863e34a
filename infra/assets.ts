import { cp, mkdir, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";

/**
 * A file or folder that is deployed beside a handler, at the path `to`: a copy of the project's file or folder `from`,
 * or a file with `content`.
 */
export type Asset = { to: string } & ({ from: string } | { content: string });

/** Writes assets into a folder. */
export async function writeAssets(folder: string, assets: readonly Asset[]): Promise<void> {
  for (const asset of assets) {
    const to = join(folder, asset.to);
    await mkdir(dirname(to), { recursive: true });
    if ("content" in asset) await writeFile(to, asset.content);
    else await cp(resolve(import.meta.dirname, "..", asset.from), to, { recursive: true });
  }
}
