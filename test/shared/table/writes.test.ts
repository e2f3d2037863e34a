import { expect, test } from "vitest";

import { itemKey, toTransactItem, type Write } from "../../../shared/table/writes.ts";

const key = { PK: "p", SK: "s" };
const orElse = () => new Error();

test.each<[Write, object]>([
  [{ put: { ...key, a: 1 } }, { Put: { Item: { ...key, a: 1 }, TableName: "t" } }],
  [{ delete: key }, { Delete: { Key: key, TableName: "t" } }],
  [
    { put: key, if: "absent", orElse },
    {
      Put: {
        Item: key,
        TableName: "t",
        ConditionExpression: "attribute_not_exists(PK)",
        ReturnValuesOnConditionCheckFailure: "ALL_OLD",
      },
    },
  ],
  [
    { check: key, if: "present" },
    { ConditionCheck: { Key: key, TableName: "t", ConditionExpression: "attribute_exists(PK)" } },
  ],
  [
    { delete: key, if: { version: 3, is: true, name: { atMost: "m" }, at: { above: 7 } } },
    {
      Delete: {
        Key: key,
        TableName: "t",
        ConditionExpression: "#c0 = :c0 AND #c1 = :c1 AND #c2 <= :c2 AND #c3 > :c3",
        ExpressionAttributeNames: { "#c0": "version", "#c1": "is", "#c2": "name", "#c3": "at" },
        ExpressionAttributeValues: { ":c0": 3, ":c1": true, ":c2": "m", ":c3": 7 },
      },
    },
  ],
  [
    { put: key, if: { absentOr: { at: { atMost: 5 } } } },
    {
      Put: {
        Item: key,
        TableName: "t",
        ConditionExpression: "attribute_not_exists(PK) OR (#c0 <= :c0)",
        ExpressionAttributeNames: { "#c0": "at" },
        ExpressionAttributeValues: { ":c0": 5 },
      },
    },
  ],
  [
    { update: key, set: { a: 1, b: undefined, c: 2 }, add: { n: 1, m: -1 }, remove: ["x", "y"], if: { v: 1 } },
    {
      Update: {
        Key: key,
        TableName: "t",
        UpdateExpression: "SET #s0 = :s0, #s1 = :s1 ADD #a0 :a0, #a1 :a1 REMOVE #r0, #r1",
        ConditionExpression: "#c0 = :c0",
        ExpressionAttributeNames: {
          "#c0": "v",
          "#s0": "a",
          "#s1": "c",
          "#a0": "n",
          "#a1": "m",
          "#r0": "x",
          "#r1": "y",
        },
        ExpressionAttributeValues: { ":c0": 1, ":s0": 1, ":s1": 2, ":a0": 1, ":a1": -1 },
      },
    },
  ],
  [
    { update: key, remove: ["x"] },
    {
      Update: {
        Key: key,
        TableName: "t",
        UpdateExpression: "REMOVE #r0",
        ExpressionAttributeNames: { "#r0": "x" },
      },
    },
  ],
  [
    { update: key, add: { n: 1 } },
    {
      Update: {
        Key: key,
        TableName: "t",
        UpdateExpression: "ADD #a0 :a0",
        ExpressionAttributeNames: { "#a0": "n" },
        ExpressionAttributeValues: { ":a0": 1 },
      },
    },
  ],
])("the write %j becomes the right action of a transaction", (write, action) => {
  expect(toTransactItem("t", write)).toEqual(action);
  expect(itemKey(write)).toEqual(key);
});
