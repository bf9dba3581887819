import { expect, it } from 'vitest'
import { entriesOf } from '../tsup-package.mjs'

it('builds every export and every command to the path in publishConfig', () => {
  const entries = entriesOf({
    exports: { '.': './src/index.ts', './react': './src/react.tsx', './events': './src/events/index.ts' },
    bin: { tool: './src/bin/tool.ts' },
  })
  expect(entries).toEqual({
    index: './src/index.ts',
    react: './src/react.tsx',
    'events/index': './src/events/index.ts',
    'bin/tool': './src/bin/tool.ts',
  })
})
