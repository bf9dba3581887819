// globalSetup of vitest projects whose tests may need a Postgres server: the first test that asks starts one for all.
import type { TestProject } from 'vitest/node'
import { Desk } from './desk.ts'
import { startPostgres } from './start-postgres.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** Returns the URL of the superuser of a server. The server is started if there is none. */
    readonly postgresDesk: string
  }
}

/** One service for all projects of a run: each project loads this file again. */
const shared = globalThis as { bowlinePostgresDesk?: Desk }

export default async function setUp(project: TestProject): Promise<() => Promise<void>> {
  const given = process.env['TEST_POSTGRES_URL']
  const running = given === undefined || given === '' ? undefined : { url: given, stop: () => Promise.resolve() }
  const desk = (shared.bowlinePostgresDesk ??= new Desk(async () => running ?? startPostgres()))
  project.provide('postgresDesk', await desk.open())
  return () => desk.close()
}
