import { writeFileSync } from 'node:fs'
import { postgresPlace } from '../../../postgres/test/place.ts'
import { describeBoundaries } from './boundaries.ts'

const database = postgresPlace()

describeBoundaries('server.url', 5, async (file) => {
  await database.clear()
  writeFileSync(file, database.url)
})
