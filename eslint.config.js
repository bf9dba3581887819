import { defineConfig, globalIgnores } from 'eslint/config'
import tseslint from 'typescript-eslint'
import { layerConfigs } from './eslint.layers.js'

const tests = ['**/test/**']
const drawing = "CallExpression[callee.object.name='fc'][callee.property.name=/^(assert|check|sample)$/]"

const packedProperties = {
  selector: 'ObjectExpression > SpreadElement > ObjectExpression',
  message: 'Write the properties one by one: this only saves lines.',
}

// Rules for imports and for random values in tests. All other rules are in .oxlintrc.json.
export default defineConfig(
  globalIgnores([
    '**/dist/**',
    'docs/api/**',
    '**/coverage/**',
    '**/.turbo/**',
    '**/.bowline/**',
    '**/node_modules/**',
    '**/*.d.mts',
    '**/*.generated.*',
    '**/*.bundled_*',
    'benchmarks/peers/**',
  ]),
  { files: ['**/*.{ts,tsx}'], languageOptions: { parser: tseslint.parser } },
  {
    // The formatter wraps everything else.
    rules: { 'max-len': ['error', { code: 140, ignoreStrings: true, ignoreTemplateLiterals: true, ignoreRegExpLiterals: true }] },
  },
  {
    files: ['packages/*/src/**', 'apps/*/src/**'],
    rules: {
      'no-restricted-syntax': [
        'error',
        { selector: 'ExportDefaultDeclaration', message: 'Export by name: default exports are renamed at every import.' },
        packedProperties,
        { selector: 'ExportAllDeclaration[exported=null]', message: 'List what is public: export { name } from …' },
      ],
    },
  },
  ...layerConfigs,
  {
    files: tests,
    rules: {
      'no-restricted-syntax': [
        'error',
        packedProperties,
        {
          selector: `${drawing}[arguments.length<2], ${drawing} > Literal.arguments, ${drawing} > ObjectExpression.arguments:not(:has(> Property[key.name='seed']))`,
          message: 'Draw the same each time, as with randomRuns(100) of scripts/test-length.ts.',
        },
        {
          selector: "CallExpression[callee.object.name='Math'][callee.property.name='random']",
          message: 'Draw from a seed that a failure prints: a test that fails once must fail again.',
        },
      ],
    },
  },
)
