import js from '@eslint/js'
import { defineConfig, globalIgnores } from 'eslint/config'
import tseslint from 'typescript-eslint'
import { layerConfig } from './eslint.layers.js'

const scripts = ['**/*.js', '**/*.mjs', '**/*.config.ts', 'vitest.*.ts']
// The same programs that tsc checks: one for all that runs on Node, so that shared types are worked out once.
const programs = ['tsconfig.json', 'packages/client/tsconfig.json', 'apps/demo/src/page/tsconfig.json', 'apps/demo/test/e2e/tsconfig.json']
const tests = ['**/test/**']
const drawing = "CallExpression[callee.object.name='fc'][callee.property.name=/^(assert|check|sample)$/]"

export default defineConfig(
  globalIgnores(['**/dist/**', 'docs/api/**', '**/coverage/**', '**/.turbo/**', '**/.bowline/**', '**/node_modules/**', '**/*.d.mts', '**/*.generated.*', 'benchmarks/peers/**']),
  js.configs.recommended,
  tseslint.configs.recommendedTypeChecked,
  {
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    languageOptions: { parserOptions: { project: programs, tsconfigRootDir: import.meta.dirname } },
    rules: {
      eqeqeq: ['error', 'always', { null: 'ignore' }],
      'max-lines': ['error', { max: 400 }],
      'no-console': 'off',
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-import-type-side-effects': 'error',
      '@typescript-eslint/no-unnecessary-condition': 'off',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_', ignoreRestSiblings: true }],
      // An async function without await keeps its promise contract; interfaces ask for it.
      '@typescript-eslint/require-await': 'off',
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
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
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/unbound-method': 'off',
    },
  },
  // tsc knows the globals of every file, eslint would need a list.
  { rules: { 'no-undef': 'off' } },
  { files: scripts, ...tseslint.configs.disableTypeChecked },
)
