import { describe } from 'vitest'
import { isPgBouncerMissing, pooledDatabase, testDatabase, titleWithPgBouncer } from '../../../scripts/postgres.ts'
import { postgresPlace } from './place.ts'
import { testPostgresKit } from './postgres-kit.ts'

describe.skipIf(isPgBouncerMissing)(
  titleWithPgBouncer('S177, S189: the kits over the postgres store through PgBouncer in transaction mode'),
  () => {
    const database = testDatabase()
    testPostgresKit(postgresPlace(database, pooledDatabase(database, 'transaction')), 5)
  },
)
