import type { ResolvedConfig } from '../config/resolve-config.ts'
import { settingKeys, splitKey, type SettingKey, type SettingValues } from '../config/settings.ts'
import type { NodeServerOptions } from '../node/create-node-server.ts'
import type { ServeOptions } from '../node/serve.ts'

type SectionValues<Section extends string> = {
  readonly [Key in SettingKey as Key extends `${Section}.${infer Name}` ? Name : never]: SettingValues[Key]
}

/** Returns the server options of the configuration. */
export function serverOptions({ values, access, redact }: ResolvedConfig): Omit<NodeServerOptions, 'runtime' | 'auth'> {
  const { basePath, hosts, trustedProxies, heartbeatMs, defaultAgent } = values
  return {
    agents: access,
    ...(defaultAgent !== undefined && { defaultAgent }),
    limits: sectionOf(values, 'limits'),
    cors: sectionOf(values, 'cors'),
    routes: sectionOf(values, 'routes'),
    hosts,
    trustedProxies,
    basePath,
    heartbeatMs,
    ...(redact && { redact }),
    log: { content: values['log.content'] },
  }
}

/** Returns the socket options of the configuration. */
export function socketOptions({ values }: ResolvedConfig): ServeOptions {
  const { host, port } = values
  const { headerBytes, headersTimeoutMs, bodyTimeoutMs, slowReaderMs } = sectionOf(values, 'limits')
  return { host, port, headerBytes, headersTimeoutMs, bodyTimeoutMs, slowReaderMs }
}

/** Returns the values of a section without its prefix: `limits.bodyBytes` becomes `bodyBytes`. */
export function sectionOf<Section extends string>(values: SettingValues, section: Section): SectionValues<Section> {
  const entries = settingKeys.flatMap((key) => {
    const [of, name] = splitKey(key)
    return of === section ? [[name, values[key]] as const] : []
  })
  return Object.fromEntries(entries) as SectionValues<Section>
}
