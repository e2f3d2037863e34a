import * as z from "zod";

import { isGenuine, readEmbedded } from "../../../shared/providers/files/embedded.ts";
import { attachment, contentTypeOf } from "../../../shared/providers/files/files.ts";
import { type Answer, jsonAnswer } from "../server/http-message.ts";
import type { LocalPath, LocalRequest } from "../server/respond.ts";

type FileStore = { folder: string; key: Buffer; now: () => Date };

const Ticket = z.object({
  key: z.string(),
  filename: z.string(),
  expires: z.coerce.number().int(),
  signature: z.string(),
});

/**
 * `/_local/files/<key>`: the downloads at the URLs that shared/providers/files/embedded.ts signs.
 * - 403: the URL has expired, or this server did not sign it.
 * - 404: the file does not exist.
 */
export const filePaths = (store: FileStore): LocalPath[] => [
  { method: "GET", path: "/_local/files/{key+}", handle: (request) => download(store, request) },
];

async function download({ folder, key, now }: FileStore, { params, query }: LocalRequest): Promise<Answer> {
  const { data: ticket } = Ticket.safeParse({ ...Object.fromEntries(query), ...params });
  if (!ticket || !isGenuine(key, ticket))
    return jsonAnswer(403, { message: "The address has no valid signature of this server." });
  if (now().getTime() >= ticket.expires * 1000) return jsonAnswer(403, { message: "This address has expired." });
  const contentType = contentTypeOf(ticket.key);
  const body = contentType === undefined ? undefined : await readEmbedded(folder, ticket.key);
  if (contentType === undefined || !body) return jsonAnswer(404, { message: "There is no such file." });
  const headers = { "content-type": contentType, "content-disposition": attachment(ticket.filename) };
  return { status: 200, headers, body };
}
