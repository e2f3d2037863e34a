import "reflect-metadata";
import serverlessExpress from "@codegenie/serverless-express";
import { Body, Controller, Get, HttpException, Module, Param, Post, Query } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";

/** Applies decorators as TypeScript's compiled output does. */
function decorate({ prototype }, name, decorators, parameters) {
  for (const [index, parameter] of parameters.entries()) parameter(prototype, name, index);
  const descriptor = Object.getOwnPropertyDescriptor(prototype, name);
  for (const decorator of decorators) decorator(prototype, name, descriptor);
}

/** A NestJS application on Express. */
export function serve(routes) {
  class Workspaces {
    name = "workspaces";
  }
  for (const [index, { method, path, answer }] of routes.entries()) {
    Workspaces.prototype[`answer${index}`] = async (params, query, sent) => {
      const { status, body } = await answer({ params, query, body: sent });
      if (status >= 400) throw new HttpException(body, status);
      return body;
    };
    decorate(Workspaces, `answer${index}`, [{ get: Get, post: Post }[method](path)], [Param(), Query(), Body()]);
  }
  Controller()(Workspaces);
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
