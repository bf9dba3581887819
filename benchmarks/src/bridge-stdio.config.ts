// Configuration of the bridge in the stdio benchmark.
import { defineBridgeConfig, inProcessExecutor } from '@bowline/bridge'
import { echo } from './bridge-echo.ts'

// A configuration must be a default export.
export default defineBridgeConfig({ executors: [inProcessExecutor({ agents: [echo] })] })
