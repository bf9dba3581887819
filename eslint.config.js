import js from '@eslint/js'
import { defineConfig, globalIgnores } from 'eslint/config'
import tseslint from 'typescript-eslint'
import { layerConfig } from './eslint.layers.js'

const tests = ['**/test/**']
const drawing = "CallExpression[callee.object.name='fc'][callee.property.name=/^(assert|check|sample)$/]"

// Rules that need types are those of .oxlintrc.json.
export default defineConfig(
  globalIgnores(['**/dist/**', 'docs/api/**', '**/coverage/**', '**/.turbo/**', '**/.bowline/**', '**/node_modules/**', '**/*.d.mts', '**/*.generated.*', 'benchmarks/peers/**']),
  js.configs.recommended,
  tseslint.configs.recommended,
  {
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    rules: {
      eqeqeq: ['error', 'always', { null: 'ignore' }],
      'max-lines': ['error', { max: 400 }],
      'no-console': 'off',
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/no-import-type-side-effects': 'error',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_', ignoreRestSiblings: true }],
    },
  },
  {
    files: ['packages/*/src/**', 'apps/*/src/**'],
    rules: {
      'no-restricted-syntax': [
        'error',
        { selector: 'ExportDefaultDeclaration', message: 'Export by name: default exports are renamed at every import.' },
        { selector: 'ExportAllDeclaration[exported=null]', message: 'List what is public: export { name } from …' },
      ],
    },
  },
  { files: ['packages/*/src/**'], rules: { 'no-console': 'error' } },
  { files: ['packages/*/{src,test}/**'], ...layerConfig },
  {
    files: tests,
    rules: {
      'no-restricted-syntax': [
        'error',
        { selector: `${drawing}[arguments.length<2], ${drawing} > Literal.arguments, ${drawing} > ObjectExpression.arguments:not(:has(> Property[key.name='seed']))`, message: 'Draw the same each time, as with randomRuns(100) of scripts/test-length.ts.' },
        { selector: "CallExpression[callee.object.name='Math'][callee.property.name='random']", message: 'Draw from a seed that a failure prints: a test that fails once must fail again.' },
      ],
    },
  },
  // tsc knows the globals of every file, eslint would need a list.
  { rules: { 'no-undef': 'off' } },
)
