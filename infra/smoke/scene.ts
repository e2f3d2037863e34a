import { randomBytes } from "node:crypto";

import { ApiError, connect, type HostedMail } from "#client";

/** A check that cannot be made here, and why. */
export class Skip extends Error {}

/** A check's finding that something is not as it should be. */
class Wrong extends Error {}

export function expect(holds: boolean, otherwise: string): asserts holds {
  if (!holds) throw new Wrong(otherwise);
}

/** Something that the run has made, and how it goes away again. */
type Leftover = { what: string; remove: () => Promise<unknown> };

/** What the checks of one run share. */
export class Scene {
  readonly api: HostedMail;
  readonly url: string;
  /** What everything that this run makes is named by. */
  readonly name = `smoke-${randomBytes(5).toString("hex")}`;
  /** The account that is looked at, once it is known. */
  path: { account_id: string };
  workspaceId: string | undefined;
  domain: string | undefined;
  readonly leftovers: Leftover[] = [];

  constructor({ url, token, account = "" }: { url: string; token: string; account?: string | undefined }) {
    this.path = { account_id: account };
    this.url = url.replace(/\/+$/, "");
    this.api = connect({
      baseUrl: this.url,
      token,
      idempotencyKeys: true,
      fetch: (request) => fetch(request, { signal: AbortSignal.timeout(30_000) }),
    });
  }

  /** Notes something that was made, to be taken away at the end, or before by the returned function. */
  made(what: string, remove: () => Promise<unknown>): () => Promise<void> {
    const leftover = { what, remove };
    this.leftovers.push(leftover);
    return async () => {
      await remove();
      const at = this.leftovers.indexOf(leftover);
      if (at !== -1) this.leftovers.splice(at, 1);
    };
  }

  /**
   * As `made`, of what is about to be made: an answer that is lost leaves it to be taken away. What was refused for good
   * was not made.
   */
  async making<T>(what: string, remove: () => Promise<unknown>, make: () => Promise<T>) {
    const done = this.made(what, remove);
    try {
      return { made: await make(), remove: done };
    } catch (error) {
      const isRefused = error instanceof ApiError && error.status < 500 && error.status !== 409;
      if (isRefused) this.leftovers.pop();
      throw error;
    }
  }

  /** The workspace that this run has made. */
  get workspace(): string {
    if (this.workspaceId === undefined) throw new Skip("there is no workspace of this run to do it in");
    return this.workspaceId;
  }

  /** The domain that this run has made. */
  get domainName(): string {
    if (this.domain === undefined) throw new Skip("there is no domain of this run to do it in");
    return this.domain;
  }

  /** Asks for something beside the functions. */
  ask(path: string, init: RequestInit = {}): Promise<Response> {
    return fetch(this.url + path, { ...init, signal: AbortSignal.timeout(30_000) });
  }
}

/**
 * Takes away what goes by a name of this run, and may be there or not: an answer that was lost says neither, and one with
 * a secret is not given twice.
 */
export async function removeNamed<Item extends { id: string }>(
  items: readonly Item[],
  isIt: (item: Item) => boolean,
  remove: (id: string) => Promise<unknown>,
): Promise<void> {
  for (const item of items) if (isIt(item)) await remove(item.id);
}

/** The error with which a call was refused. */
export async function refusalOf(call: Promise<unknown>): Promise<ApiError> {
  try {
    await call;
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
  throw new Wrong("it was not refused");
}

/** That something which was taken away is gone for its readers too. */
export async function expectGone(call: Promise<unknown>): Promise<void> {
  const { status } = await refusalOf(call);
  expect(status === 404, `what was deleted still answers ${status}`);
}
