import { describe } from 'vitest'
import { killSchedules } from './schedules.ts'

describe('schedules of a process over SQLite that is killed', () => {
  killSchedules('data.db', 1)
})
