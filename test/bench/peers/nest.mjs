import "reflect-metadata";
import serverlessExpress from "@codegenie/serverless-express";
import { Body, Controller, Get, Module, NotFoundException, Param, Post, Query } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";

const base = "v1/public/accounts/:account/workspaces";

/** Applies decorators as TypeScript's compiled output does. */
function decorate(type, name, decorators, parameters) {
  for (const [index, parameter] of parameters.entries()) parameter(type.prototype, name, index);
  const descriptor = Object.getOwnPropertyDescriptor(type.prototype, name);
  for (const decorator of decorators) decorator(type.prototype, name, descriptor);
}

/** A NestJS application on Express that serves what it is given the work of. */
export function serve({ read, list, add }) {
  class Workspaces {
    async read(account, id) {
      const found = await read(account, id);
      if (!found) throw new NotFoundException();
      return found;
    }
    list(account, page, pageSize) {
      return list(account, Number(page), Number(pageSize));
    }
    add(account, body) {
      return add(account, body.name);
    }
  }
  decorate(Workspaces, "read", [Get(":id")], [Param("account"), Param("id")]);
  if (list) decorate(Workspaces, "list", [Get()], [Param("account"), Query("page"), Query("page_size")]);
  if (add) decorate(Workspaces, "add", [Post()], [Param("account"), Body()]);
  Controller(base)(Workspaces);
  class App {
    name = "bench";
  }
  Module({ controllers: [Workspaces] })(App);
  let server;
  async function start() {
    const app = await NestFactory.create(App, { logger: ["error"] });
    await app.init();
    return serverlessExpress({ app: app.getHttpAdapter().getInstance() });
  }
  return async (event, context) => {
    server ??= await start();
    return server(event, context);
  };
}
