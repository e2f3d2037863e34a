import type { LocalPath } from "../../../infra/local/server/respond.ts";

type Asked = { body?: string; type?: string; query?: string; headers?: Record<string, string> };

/** Sends requests to a page of the local runtime, as the gateway does. `paths` are the paths of the page. */
export const asking =
  (paths: readonly LocalPath[]) =>
  async (method: string, { body = "", type, query = "", headers = {} }: Asked = {}) => {
    const path = paths.find((one) => one.method === method);
    if (!path) throw new Error(`no ${method}`);
    const host = { host: "127.0.0.1:8080" };
    const answer = await path.handle({
      params: {},
      query: new URLSearchParams(query),
      headers: new Map(Object.entries({ ...host, ...(type ? { "content-type": type } : {}), ...headers })),
      body: Buffer.from(body),
      port: 8080,
    });
    return { status: answer.status, text: answer.body.toString() };
  };
