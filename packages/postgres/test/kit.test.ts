import { describe } from 'vitest'
import { databaseOfVersion } from '../../../scripts/postgres.ts'
import { rounds } from '../../../scripts/test-length.ts'
import { postgresPlace } from './place.ts'
import { testPostgresKit } from './postgres-kit.ts'

describe('S177: the kits over the postgres store', () => testPostgresKit(postgresPlace(), 40))

/** Versions of Postgres besides the local server, in a long run. */
const versions = [18].slice(0, rounds({ short: 0, long: 1 }))
for (const version of versions) {
  describe(`S177: the kits over the postgres store on Postgres ${version}`, () =>
    testPostgresKit(postgresPlace(databaseOfVersion(version)), 40))
}
