import { expect, test } from "vitest";

import { dig, quicklyActive, setStored } from "../support/domain-work.ts";
import { connected, domainsRequest } from "../support/domains.ts";
import { visit } from "../support/visit.ts";
import { newAccount, type Account } from "../support/world.ts";

const target = "https://shop.example.com/welcome?from=mail";

const update = async (account: Account, name: string, body: object): Promise<void> => {
  const { status, text } = await domainsRequest(account, "PATCH", `/${name}`, body);
  if (status !== 200) throw new Error(text);
};

/** An active domain with these settings. */
async function site(settings: object = {}): Promise<{ account: Account; name: string }> {
  const account = await newAccount();
  const { name } = await quicklyActive(account);
  await update(account, name, settings);
  return { account, name };
}

test("redirects the domain and its www to exactly the set URL, for GET and HEAD, on any path and port", async () => {
  const { name } = await site({ redirect_url: target });
  for (const host of [name, `www.${name}`, name.toUpperCase(), `${name}.`, `${name}:8081`]) {
    for (const [method, path] of [
      ["GET", "/"],
      ["HEAD", "/a/b?c=//evil.example/"],
      ["GET", "//evil.example/%0d%0aX:1"],
    ] as const) {
      const { status, headers, body } = await visit(host, path, { method });
      expect([status, headers["location"], body], `${host} ${path}`).toEqual([302, target, ""]);
      expect(headers["cache-control"]).toBe("public, max-age=300");
      expect(headers).not.toHaveProperty("strict-transport-security");
    }
  }
  expect(await visit(name, "/", { method: "POST" })).toMatchObject({ status: 405, headers: { allow: "GET, HEAD" } });
  expect((await visit(name, "/.well-known/acme-challenge/x")).status).toBe(404);
});

test("answers 404 to other hosts, to domains without a redirect, and to inactive domains", async () => {
  const { account, name } = await site();
  const pending = (await connected(account)).name;
  await update(account, pending, { redirect_url: target, mta_sts_mode: "enforce" });
  const hosts = [
    "unknown.example",
    "localhost",
    "127.0.0.1",
    "",
    "[::1]",
    `x.${name}`,
    name,
    `www.${name}`,
    `mta-sts.${name}`,
  ];
  const idle = [pending, `www.${pending}`, `mta-sts.${pending}`, `autoconfig.${pending}`, `autodiscover.${pending}`];
  for (const host of [...hosts, ...idle]) {
    for (const path of ["/", "/.well-known/mta-sts.txt", "/mail/config-v1.1.xml"]) {
      expect(await visit(host, path), host).toMatchObject({ status: 404, body: "Not found\n" });
    }
  }
  await update(account, name, { redirect_url: target });
  for (const status of ["expired", "releasing"]) {
    await setStored(account, name, { status });
    expect((await visit(name)).status, status).toBe(404);
  }
});

test("redirects an external domain once it is proved, and while it waits for a proof in another mode", async () => {
  const { account, name } = await site({ redirect_url: target });
  for (const [status, sending_ready, answer] of [
    ["active", false, 302],
    ["pending_delegation", true, 302],
    ["pending_delegation", false, 404],
  ] as const) {
    await setStored(account, name, { dns_mode: "external", status, sending_ready });
    expect((await visit(name)).status, `${status} ${sending_ready}`).toBe(answer);
  }
});

test("serves the MTA-STS policy only at its own host, and after its end a policy with the mode `none`", async () => {
  const { account, name } = await site();
  const policy = async () => visit(`mta-sts.${name}`, "/.well-known/mta-sts.txt");
  expect((await policy()).status).toBe(404);
  const hosts = "mx: mx1.hosted-mail.example\r\nmx: mx2.hosted-mail.example\r\n";
  for (const [mta_sts_mode, body] of [
    ["testing", `version: STSv1\r\nmode: testing\r\n${hosts}max_age: 86400\r\n`],
    ["enforce", `version: STSv1\r\nmode: enforce\r\n${hosts}max_age: 604800\r\n`],
    ["none", "version: STSv1\r\nmode: none\r\nmax_age: 86400\r\n"],
  ]) {
    await update(account, name, { mta_sts_mode });
    const answer = await policy();
    expect([answer.status, answer.body]).toEqual([200, body]);
    expect(answer.headers["content-type"]).toBe("text/plain; charset=utf-8");
  }
  await update(account, name, { redirect_url: target });
  for (const [host, path] of [
    [name, "/.well-known/mta-sts.txt"],
    [`mta-sts.${name}`, "/"],
    [`autoconfig.${name}`, "/.well-known/mta-sts.txt"],
  ] as const) {
    expect((await visit(host, path)).status, host + path).toBe(404);
  }
});

test("tells Thunderbird the servers at all three places, with the address as the user name", async () => {
  const { name } = await site({ redirect_url: target });
  const places = [
    [`autoconfig.${name}`, "/mail/config-v1.1.xml?emailaddress=x@y.example"],
    [`autoconfig.${name}`, "/.well-known/autoconfig/mail/config-v1.1.xml"],
    [name, "/.well-known/autoconfig/mail/config-v1.1.xml"],
  ] as const;
  for (const [host, path] of places) {
    const { status, headers, body } = await visit(host, path);
    expect([status, headers["content-type"]]).toEqual([200, "text/xml; charset=utf-8"]);
    expect(body).toContain(`<domain>${name}</domain>`);
    expect(body).toMatch(/<incomingServer type="imap">\s*<hostname>mail.hosted-mail.example<\/hostname>\s*<port>993</);
    expect(body).toMatch(/<outgoingServer type="smtp">\s*<hostname>mail.hosted-mail.example<\/hostname>\s*<port>465</);
    expect(body.match(/<username>%EMAILADDRESS%</g)).toHaveLength(2);
  }
});

const asks = (address: string): string =>
  `<?xml version="1.0"?><Autodiscover xmlns="http://schemas.microsoft.com/exchange/autodiscover/outlook/requestschema/2006"><Request><EMailAddress>${address}</EMailAddress><AcceptableResponseSchema>http://schemas.microsoft.com/exchange/autodiscover/outlook/responseschema/2006a</AcceptableResponseSchema></Request></Autodiscover>`;

test("tells Outlook the servers for any address of the domain, even if no mailbox has this address", async () => {
  const { name } = await site();
  const post = (body: string, path = "/Autodiscover/Autodiscover.xml") =>
    visit(`autodiscover.${name}`, path, { method: "POST", body });
  const { status, headers, body } = await post(
    asks(`Ada.O'Hara@${name.toUpperCase()}`),
    "/autodiscover/autodiscover.xml",
  );
  expect([status, headers["cache-control"]]).toEqual([200, "no-store"]);
  expect(body).toMatch(/<Type>IMAP<\/Type>\s*<Server>mail.hosted-mail.example<\/Server>\s*<Port>993</);
  expect(body).toMatch(/<Type>SMTP<\/Type>\s*<Server>mail.hosted-mail.example<\/Server>\s*<Port>465</);
  expect(body).toContain(`<LoginName>ada.o&#39;hara@${name}</LoginName>`);
  const encoded = Buffer.from(asks(`ada@${name}`)).toString("base64");
  expect(
    (await visit(`autodiscover.${name}`, "/autodiscover/autodiscover.xml", { method: "POST", body: encoded })).body,
  ).toContain("ErrorCode>600<");
});

test("tells Outlook nothing for another domain's address, an entity, a document type or a long request", async () => {
  const { name } = await site();
  const wrong = [
    asks("ada@example.com"),
    asks("&me;"),
    asks(`ada@${name}&amp;`),
    `<!DOCTYPE a [<!ENTITY me "ada@${name}">]>${asks(`ada@${name}`)}`,
    asks(`ada@${name}`) + " ".repeat(20_000),
    "",
    "{}",
  ];
  for (const body of wrong) {
    const answer = await visit(`autodiscover.${name}`, "/autodiscover/autodiscover.xml", { method: "POST", body });
    expect([answer.status, /<ErrorCode>(\d+)</.exec(answer.body)?.[1]], body.slice(0, 80)).toEqual([200, "600"]);
    expect(answer.body).not.toContain("LoginName");
  }
});

test("tells newer versions of Outlook the address of the settings", async () => {
  const { name } = await site();
  const place = (query: string) => visit(`autodiscover.${name}`, `/autodiscover/autodiscover.json${query}`);
  const found = await place("?Email=ada@x.example&Protocol=Autodiscoverv1&RedirectCount=1");
  expect([found.status, JSON.parse(found.body)]).toEqual([
    200,
    { Protocol: "AutodiscoverV1", Url: `https://autodiscover.${name}/autodiscover/autodiscover.xml` },
  ]);
  expect((await place("/v1.0/ada@x.example?Protocol=ActiveSync")).status).toBe(400);
  expect((await place("")).status).toBe(400);
});

test("tells a TLS proxy to get certificates for the hosts that it serves, and for no others", async () => {
  const { account, name } = await site({ redirect_url: target, mta_sts_mode: "testing" });
  const ask = async (domain: string) => (await visit("10.0.0.1", `/.well-known/tls-check?domain=${domain}`)).status;
  for (const label of ["", "www.", "mta-sts.", "autoconfig.", "autodiscover."])
    expect(await ask(`${label}${name}`)).toBe(200);
  for (const other of [`x.${name}`, `mail.${name}`, "unknown.example", "", "%00", `www.www.${name}`]) {
    expect(await ask(other), other).toBe(404);
  }
  expect((await visit("10.0.0.1", "/.well-known/tls-check")).status).toBe(404);
  await update(account, name, { redirect_url: null });
  expect([await ask(name), await ask(`www.${name}`), await ask(`mta-sts.${name}`)]).toEqual([404, 404, 200]);
});

test("if WEB_HOST_HEADER names a header, the host is read only from this header; otherwise the header is ignored", async () => {
  const { name } = await site({ redirect_url: target });
  process.env["WEB_HOST_HEADER"] = "x-web-host";
  try {
    expect((await visit("api.example", "/", { headers: { "x-web-host": name } })).status).toBe(302);
    expect((await visit(name, "/")).status).toBe(404);
  } finally {
    delete process.env["WEB_HOST_HEADER"];
  }
  expect((await visit("api.example", "/", { headers: { "x-web-host": name } })).status).toBe(404);
});

test("no answer contains the account's id", async () => {
  const { account, name } = await site({ redirect_url: target, mta_sts_mode: "testing" });
  const answers = await Promise.all([
    visit(name),
    visit(`mta-sts.${name}`, "/.well-known/mta-sts.txt"),
    visit(`autoconfig.${name}`, "/mail/config-v1.1.xml"),
    visit(`autodiscover.${name}`, "/autodiscover/autodiscover.xml", { method: "POST", body: asks(`ada@${name}`) }),
  ]);
  expect(answers.map(({ status }) => status)).toEqual([302, 200, 200, 200]);
  expect(JSON.stringify(answers)).not.toContain(account.id);
});

test("the DNS records of the web hosts follow the settings of the domain at once", async () => {
  const { account, name } = await site({
    redirect_url: target,
    mta_sts_mode: "testing",
    tls_report_email: "tls@example.com",
  });
  const web = "web.hosted-mail.example";
  const served = async () =>
    Promise.all([
      dig(name, "A"),
      dig(`www.${name}`, "CNAME"),
      dig(`mta-sts.${name}`, "CNAME"),
      dig(`_mta-sts.${name}`, "TXT"),
      dig(`_smtp._tls.${name}`, "TXT"),
    ]);
  const first = await served();
  expect(first).toEqual([
    ["192.0.2.80"],
    [web],
    [web],
    [expect.stringMatching(/^v=STSv1; id=[0-9a-f]{20}$/)],
    ["v=TLSRPTv1; rua=mailto:tls@example.com"],
  ]);
  const { body } = await domainsRequest(account, "GET", `/${name}`);
  expect(body).toMatchObject({ dns_record_count: 13, mta_sts_mode: "testing", tls_report_email: "tls@example.com" });
  await update(account, name, { mta_sts_mode: "enforce" });
  expect((await served())[3]).not.toEqual(first[3]);
  await update(account, name, {
    redirect_url: "https://other.example.com/",
    tls_report_email: null,
    mta_sts_mode: "none",
  });
  expect((await served()).slice(0, 3)).toEqual([["192.0.2.80"], [web], [web]]);
  await update(account, name, { redirect_url: null });
  expect(await served()).toEqual(["ENODATA", "ENOTFOUND", [web], expect.anything(), "ENOTFOUND"]);
  expect((await domainsRequest(account, "GET", `/${name}`)).body.dns_record_count).toBe(9);
});
