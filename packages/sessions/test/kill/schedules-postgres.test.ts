import { writeFileSync } from 'node:fs'
import { describe } from 'vitest'
import { postgresPlace } from '../../../postgres/test/place.ts'
import { killSchedules } from './schedules.ts'

describe('schedules of two processes over Postgres, of which one is killed', () => {
  const database = postgresPlace()
  killSchedules('server.url', 2, async ({ store }) => {
    await database.clear()
    writeFileSync(store, database.url)
  })
})
