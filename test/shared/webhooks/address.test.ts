import { expect, test } from "vitest";

import { AddressRefused, urlFault, resolvePublic, type Address } from "../../../shared/webhooks/address.ts";

const strict = { allowLoopback: false };
const local = { allowLoopback: true };

test.each([
  "https://example.com",
  "https://example.com/",
  "https://example.com:8443/a/b?c=d&e",
  "HTTPS://EXAMPLE.COM/Hook",
  "https://8.8.8.8/",
  "https://[2606:4700::1111]/",
  "https://xn--bcher-kva.example/",
  "https://bücher.example/",
])("`urlFault` accepts %s", (url) =>
  expect([urlFault(url, strict), urlFault(url, local)]).toEqual([undefined, undefined]),
);

test.each([
  "",
  "example.com",
  "//example.com/",
  "https://",
  "https:// example.com",
  "https://exa\nmple.com/",
  "https://a.b/\t",
  "https://example.com:99999/",
  "https://[::1",
  "https://1.2.3.4.5/",
  "https://[fe80::1%25eth0]/",
])("%j is not a URL", (url) => expect(urlFault(url, local)).toBe("This is not a URL"));

test.each(["http://example.com/", "http://8.8.8.8/", "ftp://example.com/", "file:///etc/passwd", "data:text/plain,x"])(
  "%s is not https",
  (url) => expect(urlFault(url, local)).toBe("The URL must be https"),
);

test("`urlFault` refuses credentials and fragments, even an empty fragment", () => {
  expect(urlFault("https://user@example.com/", strict)).toBe("The URL must not have credentials");
  expect(urlFault("https://:secret@example.com/", strict)).toBe("The URL must not have credentials");
  expect(urlFault("https://example.com/#part", strict)).toBe("The URL must not have a fragment");
  expect(urlFault("https://example.com/#", strict)).toBe("The URL must not have a fragment");
});

test("`urlFault` accepts a URL of 2,048 characters, and no longer URL", () => {
  const base = "https://example.com/";
  expect(urlFault(base.padEnd(2_048, "a"), strict)).toBeUndefined();
  expect(urlFault(base.padEnd(2_049, "a"), strict)).toBe("The URL is longer than 2048 characters");
});

test.each([
  "127.0.0.1",
  "127.1",
  "2130706433",
  "0x7f000001",
  "0X7F.1",
  "0177.0.0.1",
  "017700000001",
  "127.0.0.1.",
  "0",
  "１２７.0.0.1",
  "%31%32%37.0.0.1",
  "10.0.0.1",
  "012.0.0.1",
  "169.254.169.254",
  "0xa9fea9fe",
  "2852039166",
  "100.100.100.200",
  "[::]",
  "[::1]",
  "[0:0:0:0:0:0:0:1]",
  "[::ffff:127.0.0.1]",
  "[::ffff:8.8.8.8]",
  "[::7f00:1]",
  "[fd00:ec2::254]",
  "[FE80::1]",
  "[64:ff9b::a9fe:a9fe]",
  "[2002:7f00:1::]",
  "255.255.255.255",
  "224.0.0.1",
])("`urlFault` refuses the host %s, which is not on the public internet", (host) =>
  expect(urlFault(`https://${host}/`, strict)).toBe("The address is not on the public internet"),
);

test.each(["localhost", "LOCALHOST", "metadata", "intranet"])(
  "`urlFault` refuses %s, which is not a full domain name",
  (host) =>
    expect(urlFault(`https://${host}/`, strict)).toBe("The host must be a full domain name or a public address"),
);

test.each(["example.com.", "localhost.", "metadata.google.internal."])(
  "`urlFault` refuses the dot at the end of %s",
  (host) => expect(urlFault(`https://${host}/`, local)).toBe("The host must not end with a dot"),
);

test.each(["127.0.0.1", "127.255.255.254", "[::1]", "localhost", "0x7f.1"])(
  "`urlFault` accepts plain http to %s only if loopback is allowed",
  (host) => {
    expect(urlFault(`http://${host}:8080/hook`, local)).toBeUndefined();
    expect(urlFault(`https://${host}/hook`, local)).toBeUndefined();
    expect(urlFault(`http://${host}:8080/hook`, strict)).toBeDefined();
    expect(urlFault(`https://${host}/hook`, strict)).toBeDefined();
  },
);

test.each(["10.0.0.1", "169.254.169.254", "[::ffff:127.0.0.1]", "[fe80::1]", "0.0.0.0", "[::]"])(
  "`urlFault` refuses %s even if loopback is allowed",
  (host) => expect(urlFault(`https://${host}/`, local)).toBe("The address is not on the public internet"),
);

const address = (ip: string): Address => ({ address: ip, family: ip.includes(":") ? 6 : 4 });
const answering =
  (...ips: string[]) =>
  async () =>
    ips.map(address);

async function refusal(resolving: Promise<Address>): Promise<string> {
  return resolving.then(
    ({ address }) => `resolved to ${address}`,
    (error: unknown) => (error instanceof AddressRefused ? error.reason : `threw ${String(error)}`),
  );
}

test("`resolvePublic` resolves a name once, and prefers an IPv4 address", async () => {
  const asked: string[] = [];
  const lookup = async (host: string) => {
    asked.push(host);
    return ["2606:4700::1111", "8.8.4.4", "8.8.8.8"].map(address);
  };
  expect(await resolvePublic("example.com", { ...strict, lookup })).toEqual({ address: "8.8.4.4", family: 4 });
  expect(asked).toEqual(["example.com"]);
});

test("`resolvePublic` returns an IPv6 address if the name has no IPv4 address", async () => {
  const found = resolvePublic("example.com", { ...strict, lookup: answering("2606:4700::1111") });
  expect(await found).toEqual({ address: "2606:4700::1111", family: 6 });
});

test.each([["10.0.0.1"], ["8.8.8.8", "127.0.0.1"], ["2606:4700::1111", "::ffff:8.8.8.8"], ["8.8.8.8", "fe80::1%eth0"]])(
  "`resolvePublic` refuses a name with an address that is not public: %s %s",
  async (...ips) => {
    expect(await refusal(resolvePublic("example.com", { ...strict, lookup: answering(...ips) }))).toBe(
      "blocked_address",
    );
  },
);

test("allowing loopback allows nothing else", async () => {
  const resolved = (...ips: string[]) => refusal(resolvePublic("a.example", { ...local, lookup: answering(...ips) }));
  expect(await resolved("127.0.0.1")).toBe("resolved to 127.0.0.1");
  expect(await resolved("::1")).toBe("resolved to ::1");
  expect(await resolved("127.0.0.1", "10.0.0.1")).toBe("blocked_address");
  expect(await resolved("0.0.0.0")).toBe("blocked_address");
});

test("`resolvePublic` throws `dns_failed` for a name without addresses, and for a resolver that fails", async () => {
  const failing = () => Promise.reject(new Error("SERVFAIL"));
  expect(await refusal(resolvePublic("a.example", { ...strict, lookup: answering() }))).toBe("dns_failed");
  expect(await refusal(resolvePublic("a.example", { ...strict, lookup: failing }))).toBe("dns_failed");
});

test("`resolvePublic` checks an address itself, and asks no resolver about it", async () => {
  const lookup = () => Promise.reject(new Error("asked"));
  expect(await refusal(resolvePublic("8.8.8.8", { ...strict, lookup }))).toBe("resolved to 8.8.8.8");
  expect(await refusal(resolvePublic("127.0.0.1", { ...strict, lookup }))).toBe("blocked_address");
  expect(await refusal(resolvePublic("::1", { ...strict, lookup }))).toBe("blocked_address");
});

test("`localhost` is refused after the system's resolver has resolved it", async () => {
  expect(await refusal(resolvePublic("localhost", strict))).toBe("blocked_address");
});
