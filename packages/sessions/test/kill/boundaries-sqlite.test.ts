import { describeBoundaries } from './boundaries.ts'

describeBoundaries('data.db', 1)
