import boundaries from 'eslint-plugin-boundaries'

// Layer table for eslint-plugin-boundaries. A package must not import a package that is not listed here, in any form: by name,
// relative path, subpath or dynamic import.

// Modules that exist only with the prefix (node:sqlite) count as external.
const builtinModules = [{ module: { origin: 'core' } }, { module: { origin: 'external', source: 'node:*' } }]
const testLibraries = ['vitest', 'fast-check']

/**
 * @typedef {object} Layer
 * @property {readonly string[]} packages lower packages that it may import
 * @property {readonly string[]} typesOf packages of which it may import only types
 * @property {readonly string[]} libraries npm packages that it may import
 * @property {readonly string[]} builtins folders and files that may import Node built-ins, relative to the package
 */

/** @type {Readonly<Record<string, Layer>>} */
export const layers = {
  llm: {
    packages: [],
    typesOf: [],
    libraries: ['ai', '@ai-sdk/provider', 'zod', 'uuid', 'fastest-levenshtein', 're2js', '@opentelemetry/api'],
    builtins: [],
  },
  'agent-loop': {
    packages: ['llm'],
    typesOf: [],
    libraries: ['uuid', 'canonicalize', '@noble/hashes'],
    builtins: ['src/node/**'],
  },
  sessions: {
    packages: ['agent-loop', 'llm'],
    typesOf: [],
    libraries: ['kysely', 'croner', 'canonicalize', 'ipaddr.js'],
    builtins: ['src/**'],
  },
  postgres: {
    packages: ['sessions', 'llm'],
    typesOf: [],
    libraries: ['kysely', 'pg'],
    builtins: ['src/**'],
  },
  redis: {
    packages: ['sessions', 'llm'],
    typesOf: [],
    libraries: ['redis', '@upstash/redis'],
    builtins: ['src/**'],
  },
  restate: {
    packages: ['sessions', 'llm'],
    typesOf: [],
    libraries: ['@restatedev/restate-sdk'],
    builtins: ['src/**'],
  },
  bridge: {
    packages: ['sessions', 'agent-loop', 'llm', 'client'],
    typesOf: [],
    libraries: ['zod', '@modelcontextprotocol/*', '@agentclientprotocol/sdk', 'string-argv'],
    builtins: ['src/**'],
  },
  server: {
    packages: ['bridge', 'sessions', 'agent-loop', 'llm'],
    typesOf: ['client'],
    libraries: [
      ...['hono', '@hono/*', 'zod', 'jose', 'rate-limiter-flexible', 'pg', 'pino', 'prom-client'],
      ...['@modelcontextprotocol/server', '@opentelemetry/api'],
    ],
    builtins: ['src/node/**', 'src/config/**', 'src/bin/**'],
  },
  client: {
    packages: [],
    typesOf: ['agent-loop'],
    libraries: [],
    builtins: [],
  },
  testing: {
    packages: ['bridge', 'sessions', 'agent-loop', 'llm'],
    typesOf: [],
    libraries: ['redis'],
    builtins: ['src/**'],
  },
}

const packageNames = Object.keys(layers)

/** Packages of stores that a user takes or leaves. Tests of any package may use them. */
const storePackages = ['postgres', 'redis']

const elements = [
  ...packageNames.map((name) => ({ type: name, pattern: `packages/${name}`, partialMatch: false })),
  { type: 'top', pattern: ['apps/*', 'benchmarks', 'examples', 'scripts'], partialMatch: false },
]

const files = [
  { category: 'source', pattern: 'packages/*/src/**' },
  { category: 'testing', pattern: ['packages/*/src/testing/**', 'packages/testing/src/**'] },
  { category: 'test', pattern: 'packages/*/test/**' },
]

/**
 * Returns the policies of one package. The last policy that matches decides.
 *
 * @param {string} name
 * @param {Layer} layer
 */
function policiesOf(name, layer) {
  const element = { type: name }
  const below = [...layer.packages, ...layer.typesOf]
  return [
    { from: { element }, allow: { to: { element: { type: [name, ...layer.packages] } } } },
    ...(layer.typesOf.length === 0
      ? []
      : [{ from: { element }, allow: { to: { element: { type: [...layer.typesOf] } }, dependency: { kind: 'type' } } }]),
    ...(layer.libraries.length === 0
      ? []
      : [{ from: { element }, allow: { to: { module: { origin: 'external', source: [...layer.libraries] } } } }]),
    ...(layer.builtins.length === 0
      ? []
      : [
          {
            from: { element: { ...element, fileInternalPath: [...layer.builtins] } },
            allow: { to: builtinModules },
          },
        ]),
    {
      from: { element, file: { categories: 'test' } },
      allow: {
        to: [
          { module: { origin: 'external', source: '!@bowline/*' } },
          ...builtinModules,
          ...(below.length === 0 ? [] : [{ element: { type: below } }]),
        ],
      },
    },
  ]
}

// One pattern per depth, because ** does not match the segment `..`.
const upwards = [2, 3, 4, 5, 6, 7, 8].map((depth) => `${'../'.repeat(depth)}**`)

const special = [
  // Parts that the tests of all packages share: argument tables, bundled programs, browser, servers, and the size of tests.
  {
    from: { file: { categories: 'test' } },
    allow: {
      to: {
        element: {
          type: 'top',
          fileInternalPath: [
            ...['argument-table.ts', 'chromium.ts', 'postgres.ts', 'programs.ts', 'redis.ts', 'restate.ts', 'test-length.ts'],
          ],
        },
      },
    },
  },
  // All packages share the argument checks, so that file must not import other code of its package.
  {
    from: { element: { type: 'client' } },
    allow: { to: { element: { type: 'llm', fileInternalPath: 'src/arguments.ts' } } },
  },
  {
    from: { element: { type: 'llm', fileInternalPath: 'src/arguments.ts' } },
    disallow: { to: [{ element: { type: 'llm' } }, { module: { origin: 'core' } }] },
  },
  // The client shares the pure reducer with the loop, so the reducer must not import other code.
  {
    from: { element: { type: 'client' } },
    allow: { to: { element: { type: 'agent-loop', fileInternalPath: 'src/events/**' } } },
  },
  {
    from: { element: { type: 'agent-loop', fileInternalPath: 'src/events/**' } },
    disallow: {
      to: [
        { element: { type: 'llm' } },
        { element: { type: 'agent-loop', fileInternalPath: '!src/events/**' } },
        { module: { origin: ['external', 'core'] } },
      ],
      dependency: { kind: 'value' },
    },
  },
  {
    from: { element: { type: 'client', fileInternalPath: 'src/chat.ts' } },
    allow: { to: { module: { origin: 'external', source: 'ai' } } },
  },
  {
    from: { element: { type: 'client', fileInternalPath: ['src/react.{ts,tsx}', 'src/react/**'] } },
    allow: { to: { module: { origin: 'external', source: 'react' } } },
  },
  // Libraries that only Node can load are passed into the root entry of the server.
  {
    from: { element: { type: 'server', fileInternalPath: ['src/*.ts', 'src/!(node|bin|config)/**'] }, file: { categories: 'source' } },
    disallow: { to: { module: { origin: 'external', source: ['pino', 'prom-client', 'rate-limiter-flexible'] } } },
  },
  {
    from: { file: { categories: 'testing' } },
    allow: { to: { module: { origin: 'external', source: testLibraries } } },
  },
  // Loaded when the environment asks for it.
  {
    from: { element: { type: 'sessions', fileInternalPath: 'src/stores/state-store-from-env.ts' } },
    allow: { to: { element: { type: storePackages } } },
  },
  {
    from: { element: { type: 'server', fileInternalPath: ['src/bin/**', 'src/node/prometheus/**'] } },
    allow: { to: { element: { type: ['postgres', 'restate'] } } },
  },
  {
    from: { element: { type: 'server', fileInternalPath: 'src/bin/placement.ts' } },
    allow: { to: { element: { type: 'restate' } } },
  },
  {
    from: { file: { categories: 'test' } },
    allow: { to: { element: { type: storePackages } } },
  },
  ...[...storePackages, 'restate'].map((name) => ({
    from: { element: { type: name }, file: { categories: 'test' } },
    allow: { to: { element: { type: 'agent-loop' } } },
  })),
  // Tests of these packages share places and helpers with those of the sessions.
  ...[['sessions', storePackages], ...storePackages.map((name) => [name, ['sessions']])].map(([name, others]) => ({
    from: { element: { type: name }, file: { categories: 'test' } },
    allow: { to: { element: { type: others }, file: { categories: 'test' } } },
  })),
  // Other packages must be imported by name: a relative path would bundle their sources into this one.
  ...packageNames.map((name) => ({
    from: { element: { type: name } },
    disallow: {
      to: { element: { type: packageNames.filter((other) => other !== name) }, file: { categories: ['source', 'testing'] } },
      dependency: { source: upwards },
    },
  })),
  // The tests of all packages use the kits, and parts of them that users do not get by relative path.
  { from: { file: { categories: 'test' } }, allow: { to: { element: { type: 'testing' } } } },
  // Kits and test doubles are for tests: product code must not import them.
  {
    from: { file: { categories: { anyOf: ['source'], noneOf: ['testing'] } } },
    disallow: { to: { file: { categories: 'testing' } } },
  },
]

const shared = {
  // The types of the plugin describe its CommonJS module, not the imported value.
  plugins: { boundaries: /** @type {import('eslint').ESLint.Plugin} */ (/** @type {unknown} */ (boundaries)) },
  settings: {
    'boundaries/elements': elements,
    'boundaries/files': files,
    'boundaries/root-path': import.meta.dirname,
    'boundaries/legacy-templates': false,
    'import/resolver': { typescript: true },
  },
}

/**
 * One config per package. The plugin compares each import with each policy of its config. So a config holds only policies that can
 * match files of its package, which halves the time.
 *
 * @type {readonly import('eslint').Linter.Config[]}
 */
export const layerConfigs = packageNames.map((name) => ({
  files: [`packages/${name}/{src,test}/**/*.{ts,tsx}`],
  ...shared,
  rules: {
    'boundaries/dependencies': [
      'error',
      {
        default: 'disallow',
        checkAllOrigins: true,
        checkInternals: true,
        // Files outside packages match no policy. A separate rule for them would resolve each import once more.
        checkUnknownLocals: true,
        message: '{{from.element.types.[0]}} must not import {{dependency.source}} here: see the table in eslint.layers.js',
        policies: [
          ...policiesOf(name, /** @type {Layer} */ (layers[name])),
          ...special.filter(({ from }) => !('element' in from) || from.element.type === name),
        ],
      },
    ],
  },
}))
