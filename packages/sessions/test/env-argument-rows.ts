import { stateStoreFromEnv } from '@bowline/sessions/env'
import { func, object, options } from '../../../scripts/argument-table.ts'
import type { ShapedRow, ValueShape } from '../../../scripts/argument-table.ts'

const prefix: ValueShape = {
  good: 'own',
  accepts: (value) => value === undefined || (typeof value === 'string' && /^[\w.:/-]{1,64}$/.test(value)),
}

/** Rows of the state store that the environment names. */
export const envRows: Readonly<Record<string, ShapedRow>> = {
  stateStoreFromEnv: {
    args: [['', options({ environment: object({}), prefix, onWarning: func() })]],
    call: stateStoreFromEnv,
  },
}
