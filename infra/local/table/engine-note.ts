import { rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** The file in the data folder that tells the operator's command where the running product's engine is. */
export const engineNote = "engine.json";

/** The name of the table on one machine. */
export const localTableName = "hosted-mail-local";

/** Writes the note; the returned function takes it away again. */
export async function leaveEngineNote(
  dataDir: string,
  note: { endpoint: string; pid: number },
): Promise<() => Promise<void>> {
  const file = join(dataDir, engineNote);
  await writeFile(`${file}.new`, `${JSON.stringify(note)}\n`, { mode: 0o600 });
  await rename(`${file}.new`, file);
  return () => rm(file, { force: true });
}
