import { randomUUID } from "node:crypto";

import { expect, test } from "vitest";

import { createAccount } from "../../../shared/access/operate-accounts.ts";
import { noPermissions } from "../../../shared/auth/permissions.ts";
import { sweepCheckouts, type AskContext } from "../../../shared/billing/ask.ts";
import { openAccountBilling } from "../../../shared/billing/book.ts";
import { checkoutResult } from "../../../shared/billing/checkout-result.ts";
import { handlePayment } from "../../../shared/billing/payments.ts";
import { runAccount, runAll } from "../../../shared/billing/run.ts";
import { recorder } from "../../../shared/changes/recorder.ts";
import { Problem } from "../../../shared/core/errors.ts";
import { dayOf, plusDays } from "../../../shared/core/time.ts";
import { batchQueue } from "../../../shared/domains/domain.ts";
import type { Context } from "../../../shared/http/route.ts";
import { settleCheckout, type Act, embeddedPayments } from "../../../shared/providers/payments/embedded.ts";
import type { Payments } from "../../../shared/providers/payments/payments.ts";
import { stripePayments } from "../../../shared/providers/payments/stripe.ts";
import { dueKey, readDue, type Queue } from "../../../shared/table/due.ts";
import { checkoutQueue, createTopup, openTopup, StoredTopup, topupKey } from "../../../shared/wallet/topup.ts";
import { readWallet } from "../../../shared/wallet/wallet.ts";
import { createMemoryStore, openMemoryTable, type MemoryStore, type Step } from "../../support/memory-table.ts";
import { noCards } from "../../support/no-cards.ts";
import { thrownBy } from "../../support/thrown.ts";
import { startStripe } from "../providers/stripe-service.ts";
import { log } from "./scene.ts";

const start = Date.parse("2026-03-31T12:00:00.000Z");
const minutes = 60_000;
const days = 1_440 * minutes;

/** The id of the top-up to which a checkout token belongs. The token begins with this id, a UUID. */
const topupIdIn = (checkoutToken: string): string => checkoutToken.slice(0, 36);

/** An account in a table in memory, with an embedded payment provider, and a clock that only the test moves. */
async function newScene() {
  const store = createMemoryStore();
  const table = openMemoryTable(store);
  const accountId = randomUUID();
  const clock = { ms: start };
  const now = (): Date => new Date(clock.ms);
  await createAccount(
    table,
    { id: accountId, client: { id: randomUUID(), name: "C" }, name: "A", ownerId: randomUUID() },
    now(),
  );
  const provider = embeddedPayments(openMemoryTable(store), {
    webhookSecret: "a secret of 16 and more",
    baseUrl: "http://127.0.0.1",
    now,
  });
  const asked: string[] = [];
  let token = "";
  const payments: Payments = {
    ...provider,
    createCheckout: (input) => {
      token = new URL(input.successUrl ?? "").searchParams.get("checkout_token") ?? "";
      return provider.createCheckout(input);
    },
    getCheckout: async (id) => {
      asked.push(id);
      return provider.getCheckout(id);
    },
  };
  const author = { action: "test", actor: { type: "user" as const, id: "somebody" }, requestId: "r" };
  const context: Context = {
    principal: { type: "user", id: "somebody", email: "", groups: [] },
    permissions: { ...noPermissions, member: true },
    requestId: randomUUID(),
    table,
    commit: recorder({ table, accountId, author, now }),
    answer: async (value) => value,
    chargeClass: async () => undefined,
    log,
    now,
  };
  const outside = { payments, publicUrl: "http://here" };
  const work = (more: Partial<AskContext> = {}): AskContext => ({ table, payments, now, log, ...more });
  const askingOf = (more: Partial<AskContext> = {}) => {
    const context = work(more);
    return { ...context, payments: { ...payments, ...context.payments }, publicUrl: outside.publicUrl };
  };
  return {
    store,
    table,
    accountId,
    clock,
    now,
    asked,
    context,
    outside,
    work,
    token: () => token,
    open: () => createTopup(accountId, 1e3, context, outside),
    sweep: (more?: Partial<AskContext>, early = false) => sweepCheckouts(work(more), { early }),
    page: async (more?: Partial<AskContext>) =>
      (await checkoutResult(accountId, token, more?.table ?? table, () => askingOf(more))).status,
    topup: () => table.get(topupKey(accountId, topupIdIn(token)), StoredTopup),
    posted: async () => (await readWallet(table, accountId)).posted,
    queued: (queue: Queue = checkoutQueue) => inQueue(queue, store),
    act: (id: string, act: Act) => settleCheckout(openMemoryTable(store), id, act, now()),
  };
}
type Scene = Awaited<ReturnType<typeof newScene>>;

async function inQueue(queue: Queue, store: MemoryStore) {
  return (await readDue(openMemoryTable(store), queue, new Date(start + 900 * days))).flat();
}

/** A paid checkout. The provider's webhook has not reported the payment. */
async function paidScene(): Promise<Scene & { checkoutId: string }> {
  const scene = await newScene();
  const { hosted_page } = await scene.open();
  await scene.act(hosted_page.id, "pay");
  return { ...scene, checkoutId: hosted_page.id };
}

/** Handles the event that the provider's webhook would send for the payment. */
const webhook = ({ accountId, checkoutId, token, table, now }: Scene & { checkoutId: string }) =>
  handlePayment(
    {
      id: randomUUID(),
      type: "paid",
      checkoutId,
      reference: topupIdIn(token()),
      accountId,
      amount: 1_000,
      currency: "USD",
      at: now(),
    },
    { table, now, log },
  );

test("without a webhook, the worker credits a payment after two minutes, and does not look at it again", async () => {
  const scene = await paidScene();
  expect(await scene.sweep()).toMatchObject({ due: 0 });
  expect(await scene.posted()).toBe(0);
  scene.clock.ms += 2 * minutes;
  expect(await scene.sweep()).toEqual({ due: 1, done: 1, failed: 0 });
  expect([await scene.posted(), await scene.page(), await scene.queued()]).toEqual([1_000, "paid", []]);
  expect(await webhook(scene)).toBe("known");
  expect(await scene.posted()).toBe(1_000);
});

test("without a webhook, the payer's page and the start of the product credit a payment without a wait", async () => {
  const byPage = await paidScene();
  expect(await byPage.page()).toBe("paid");
  expect(await byPage.posted()).toBe(1_000);
  const byStart = await paidScene();
  expect(await byStart.sweep({}, true)).toEqual({ due: 1, done: 1, failed: 0 });
  expect([await byStart.posted(), await byStart.queued()]).toEqual([1_000, []]);
});

test("a payment is credited once, even if the webhook, the worker and the page learn of it at the same time", async () => {
  for (let time = 0; time < 20; time++) {
    const scene = await paidScene();
    scene.clock.ms += 2 * minutes;
    const reports = [() => webhook(scene), () => scene.sweep(), () => scene.page(), () => scene.sweep({}, true)];
    // All four report twice at the same time. Each round begins with another one of the four.
    const ordered = [...reports.slice(time % 4), ...reports.slice(0, time % 4), ...reports];
    await Promise.all(ordered.map((report) => report()));
    expect([await scene.posted(), await scene.page()]).toEqual([1_000, "paid"]);
    await scene.sweep({}, true);
    expect(await scene.queued()).toEqual([]);
  }
});

test("the provider is asked at most once in four seconds, even if many pages poll", async () => {
  const scene = await newScene();
  await scene.open();
  for (const _ of [1, 2, 3]) {
    const before = scene.asked.length;
    const polls = Array.from({ length: 30 }, () => scene.page());
    expect(new Set(await Promise.all(polls))).toEqual(new Set(["pending"]));
    scene.clock.ms += 3_999;
    await scene.page();
    expect(scene.asked.length - before).toBe(1);
    scene.clock.ms += 1;
  }
});

test("if the provider fails, the page says `pending`, and the worker tries again later", async () => {
  const scene = await paidScene();
  const troubles = [new Problem("upstream_unavailable", "No answer.", { retry_after: 1 }), new Error("a wrong key")];
  for (const trouble of troubles) {
    const payments = { ...noCards, getCheckout: () => Promise.reject(trouble) };
    expect(await scene.page({ payments })).toBe("pending");
    scene.clock.ms += 5 * minutes;
    expect(await scene.sweep({ payments })).toEqual({ due: 1, done: 0, failed: 1 });
    const [next] = await scene.queued();
    expect(Date.parse(next?.at ?? "")).toBeGreaterThan(scene.clock.ms);
  }
  scene.clock.ms += 60 * minutes;
  await scene.sweep();
  expect([await scene.posted(), await scene.queued()]).toEqual([1_000, []]);
});

test("a checkout is not credited if the provider does not know it, or if its answer is about another checkout", async () => {
  const unknown = await newScene();
  await unknown.open();
  const none = { ...noCards, getCheckout: () => Promise.reject(new Problem("not_found", "None.")) };
  expect(await unknown.page({ payments: none })).toBe("pending");
  expect(await unknown.sweep({ payments: none }, true)).toMatchObject({ failed: 1 });
  expect(await unknown.queued()).toEqual([]);
  const others = [{ id: "cs_local_another" }, { accountId: randomUUID() }, { reference: randomUUID() }];
  for (const other of [...others, { currency: "EUR" }]) {
    const scene = await paidScene();
    const getCheckout: Payments["getCheckout"] = async (id) => ({
      ...(await scene.outside.payments.getCheckout(id)),
      ...other,
    });
    expect(await scene.page({ payments: { ...noCards, getCheckout } })).toBe("pending");
    await scene.sweep({ payments: { ...noCards, getCheckout } }, true);
    expect(await scene.posted()).toBe(0);
  }
});

test("a complete session of Stripe is credited only after it is paid", async () => {
  const scene = await newScene();
  const stripe = await startStripe();
  const payments = stripePayments(async () => ({ apiKey: "sk_test", webhookSecrets: ["whsec"] }), {
    endpoint: stripe.url,
  });
  const outside = { payments, publicUrl: "http://here" };
  const { hosted_page } = await createTopup(scene.accountId, 2_345, scene.context, outside);
  const session = stripe.sessions.get(hosted_page.id) ?? {};
  Object.assign(session, { status: "complete" });
  expect(await scene.sweep({ payments }, true)).toEqual({ due: 1, done: 1, failed: 0 });
  expect([await scene.posted(), (await scene.queued()).length]).toEqual([0, 1]);
  Object.assign(session, { payment_status: "paid" });
  expect(await scene.sweep({ payments }, true)).toEqual({ due: 1, done: 1, failed: 0 });
  expect([await scene.posted(), await scene.queued()]).toEqual([2_345, []]);
  const asked = stripe.recorded.filter(({ method }) => method === "GET").map(({ path }) => path);
  expect(asked).toEqual([1, 2].map(() => `/v1/checkout/sessions/${hosted_page.id}`));
});

test("if Stripe refuses the amount of a top-up, the answer is a 422 about `amount`, and nothing is queued", async () => {
  const scene = await newScene();
  const stripe = await startStripe([
    { status: 400, error: { type: "invalid_request_error", code: "amount_too_small", message: "No." } },
  ]);
  const payments = stripePayments(async () => ({ apiKey: "sk_test", webhookSecrets: ["whsec"] }), {
    endpoint: stripe.url,
  });
  const opening = createTopup(scene.accountId, 30, scene.context, { payments, publicUrl: "http://here" });
  expect(await thrownBy(opening)).toMatchObject({ errors: [{ loc: ["body", "amount"] }] });
  expect(await scene.queued()).toEqual([]);
});

test("the worker asks about an open checkout less and less often, until the checkout has expired", async () => {
  const scene = await newScene();
  await scene.open();
  const waits: number[] = [];
  for (let lastMs = start; ;) {
    const [next] = await scene.queued();
    if (!next) break;
    scene.clock.ms = Date.parse(next.at);
    waits.push((scene.clock.ms - lastMs) / minutes);
    lastMs = scene.clock.ms;
    await scene.sweep();
  }
  expect(waits.slice(0, 4)).toEqual([2, 2, 2, 3]);
  expect(waits).toEqual(waits.toSorted((one, other) => one - other));
  expect(waits.length).toBeLessThan(50);
  expect(await scene.page()).toBe("expired");
});

test("after thirty days the worker stops asking about a checkout that stays open, but its page still asks the provider", async () => {
  const scene = await newScene();
  const { hosted_page } = await scene.open();
  await scene.act(hosted_page.id, "decline");
  for (let next = await scene.queued(); next.length > 0; next = await scene.queued()) {
    scene.clock.ms = Date.parse(next[0]?.at ?? "");
    await scene.sweep();
  }
  expect(scene.clock.ms - start).toBeGreaterThan(30 * days);
  expect(scene.asked.length).toBeLessThan(120);
  const before = scene.asked.length;
  expect(await scene.page()).toBe("pending");
  expect(scene.asked.length).toBe(before + 1);
});

test("the worker asks about a checkout for more than thirty days if the provider fails", async () => {
  const scene = await paidScene();
  scene.clock.ms += 100 * days;
  const payments = {
    ...noCards,
    getCheckout: () => Promise.reject(new Problem("upstream_unavailable", "No answer.", { retry_after: 1 })),
  };
  expect(await scene.sweep({ payments })).toMatchObject({ due: 1, failed: 1 });
  scene.clock.ms += 2 * days;
  expect(await scene.sweep()).toMatchObject({ due: 1, done: 1 });
  expect(await scene.posted()).toBe(1_000);
});

test("a purchase that waits for its payment continues, whether the page or the worker learns of the payment", async () => {
  for (const how of ["page", "worker"]) {
    const scene = await newScene();
    const { session, plan } = await openTopup(scene.accountId, 1_500, scene.context, scene.outside, {
      batchId: "batch",
    });
    await scene.context.commit(async () => ({ value: session, ...(await plan()) }));
    await scene.act(session.hosted_page.id, "pay");
    expect(await scene.queued(batchQueue)).toEqual([]);
    await (how === "page" ? scene.page() : scene.sweep({}, true));
    expect(await scene.queued(batchQueue)).toMatchObject([{ subject: [scene.accountId, "batch"] }]);
  }
});

/** A paid checkout as the first edition stored it: in no queue, and without the members that came later. */
async function oldScene() {
  const scene = await paidScene();
  const { asked_at, is_queued, ...topup } = StoredTopup.parse(await scene.topup());
  expect([asked_at, is_queued]).toEqual([undefined, true]);
  for (const { at, subject } of await scene.queued()) {
    const [accountId = "", ...names] = subject;
    await scene.table.attempt({ delete: dueKey(checkoutQueue, [accountId, ...names], at) });
  }
  await scene.table.attempt({ put: { ...topupKey(scene.accountId, topup.id), ...topup } });
  expect(await scene.queued()).toEqual([]);
  return scene;
}

test("the page of a checkout of the first edition credits the payment", async () => {
  const scene = await oldScene();
  const pages = Array.from({ length: 5 }, () => scene.page());
  expect(await Promise.all(pages)).toContain("paid");
  expect(await scene.posted()).toBe(1_000);
});

test("the daily run puts a checkout of the first edition into the queue once, and the worker then credits it", async () => {
  const scene = await oldScene();
  const { table, now } = scene;
  const run = () => runAll(plusDays(dayOf(now()), -1), { table, now, requestId: "r", log });
  await Promise.all([run(), run()]);
  await run();
  expect(await scene.queued()).toHaveLength(1);
  expect(await scene.sweep()).toMatchObject({ due: 1, done: 1 });
  expect([await scene.posted(), await scene.queued()]).toEqual([1_000, []]);
});

/** Makes an invoice of one day, which the wallet cannot pay yet. Returns the open amount, in minor units. */
async function owing({ table, accountId, now }: Scene): Promise<number> {
  await runAccount(accountId, dayOf(now()), { table, now, requestId: "r" });
  const { open } = await openAccountBilling(table, accountId, now());
  return open.reduce((sum, { total }) => sum + total, 0);
}

/** Stops a process for ever at its await number `place`, counted from 0. */
const dyingAt = (place: number, seen: { steps: number }): Step => {
  const never = new Promise<undefined>(() => undefined);
  return async () => (seen.steps++ === place ? never : undefined);
};

test.each(["worker", "page"])(
  "if the %s dies at any await, the payment is still credited once, and pays the open invoice",
  async (who) => {
    for (let place = 0; ; place++) {
      const scene = await paidScene();
      const owed = await owing(scene);
      expect(owed).toBeGreaterThan(0);
      const seen = { steps: 0 };
      const dying = { table: openMemoryTable(scene.store, { step: dyingAt(place, seen) }) };
      scene.clock.ms += 2 * minutes;
      const died = who === "worker" ? scene.sweep(dying) : scene.page(dying);
      died.catch(() => undefined);
      await new Promise(setImmediate);
      await scene.sweep();
      expect([place, await scene.posted(), await scene.page()]).toEqual([place, 1_000 - owed, "paid"]);
      scene.clock.ms += 60 * minutes;
      await scene.sweep();
      expect(await scene.queued()).toEqual([]);
      if (seen.steps <= place) {
        expect(place).toBeGreaterThan(8);
        return;
      }
    }
  },
);
