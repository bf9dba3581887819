import { describeBoundaries } from './boundaries.ts'

describeBoundaries('files', 3)
