import { randomBytes } from "node:crypto";

import { ApiError, HostedMail } from "#client";

/** Thrown by a check that is not possible here. The message gives the reason. */
export class Skip extends Error {}

/** Thrown by a check that finds a fault. */
class Fault extends Error {}

/** Throws a `Fault` with the message `otherwise` if `holds` is false. */
export function expect(holds: boolean, otherwise: string): asserts holds {
  if (!holds) throw new Fault(otherwise);
}

/** A resource that the run has created, and the function that removes it. */
type Leftover = { what: string; remove: () => Promise<unknown> };

/** The state that the checks of one run share. */
export class Scene {
  readonly api: HostedMail;
  readonly url: string;
  /** A text in the names of most resources that this run creates. */
  readonly name = `smoke-${randomBytes(5).toString("hex")}`;
  /** The account to check. The id is empty until the account is known. */
  path: { account_id: string };
  workspaceId: string | undefined;
  domain: string | undefined;
  readonly leftovers: Leftover[] = [];
  readonly #token: string;

  constructor({ url, token, account = "" }: { url: string; token: string; account?: string | undefined }) {
    this.path = { account_id: account };
    this.url = url.replace(/\/+$/, "");
    this.#token = token;
    this.api = new HostedMail({ baseUrl: this.url, token });
  }

  /**
   * Registers a created resource for removal at the end of the run. Returns a function that removes the resource
   * earlier.
   */
  registerRemoval(what: string, remove: () => Promise<unknown>): () => Promise<void> {
    const leftover = { what, remove };
    this.leftovers.push(leftover);
    return async () => {
      await remove();
      const at = this.leftovers.indexOf(leftover);
      if (at !== -1) this.leftovers.splice(at, 1);
    };
  }

  /**
   * Registers a resource for removal, and then creates it. So the resource is removed even if the answer to its
   * creation is lost. If the product refuses the creation, nothing is removed. A 409 does not count as a refusal,
   * because it can be the answer to a repeat.
   */
  async createRemovable<T>(what: string, remove: () => Promise<unknown>, make: () => Promise<T>) {
    const removeNow = this.registerRemoval(what, remove);
    try {
      return { made: await make(), remove: removeNow };
    } catch (error) {
      const isRefused = error instanceof ApiError && error.status < 500 && error.status !== 409;
      if (isRefused) this.leftovers.pop();
      throw error;
    }
  }

  /** The workspace that this run has created. */
  get workspace(): string {
    if (this.workspaceId === undefined) throw new Skip("this run has no workspace");
    return this.workspaceId;
  }

  /** The domain that this run has created. */
  get domainName(): string {
    if (this.domain === undefined) throw new Skip("this run has no domain");
    return this.domain;
  }

  /** The time in one hour, by the clock of the product. */
  async inOneHour(): Promise<string> {
    const { headers } = await this.ask("/v1/public/me");
    return new Date(Date.parse(headers.get("date") ?? "") + 3_600_000).toISOString();
  }

  /** Sends a request with the token, without using the client. */
  askAs(path: string, init: RequestInit): Promise<Response> {
    const headers = new Headers(init.headers);
    headers.set("authorization", `Bearer ${this.#token}`);
    return this.ask(path, { ...init, headers });
  }

  /** Sends a request without the token, and without using the client. */
  ask(path: string, init: RequestInit = {}): Promise<Response> {
    return fetch(this.url + path, { ...init, signal: AbortSignal.timeout(30_000) });
  }
}

/**
 * Removes the items that this run has created. `isMatch` finds the items by their names, because their ids may be
 * unknown: the answer to the creation may be lost, or cannot be repeated because it had a secret.
 */
export async function removeNamed<Item extends { id: string }>(
  items: readonly Item[],
  isMatch: (item: Item) => boolean,
  remove: (id: string) => Promise<unknown>,
): Promise<void> {
  for (const item of items) if (isMatch(item)) await remove(item.id);
}

/** The error of a refused call. */
export async function errorOf(call: Promise<unknown>): Promise<ApiError> {
  try {
    await call;
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
  throw new Fault("the request was not refused");
}

/** Checks that a deleted resource cannot be read any more. */
export async function expectGone(call: Promise<unknown>): Promise<void> {
  const { status } = await errorOf(call);
  expect(status === 404, `the deleted resource still answers ${status}`);
}
