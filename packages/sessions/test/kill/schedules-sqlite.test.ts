import { describe } from 'vitest'
import { killSchedules } from './schedules.ts'

describe('schedules of a killed process over SQLite', () => {
  killSchedules('data.db', 1)
})
