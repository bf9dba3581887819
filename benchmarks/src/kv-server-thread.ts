// A KV server over the Redis whose URL it is given, in a thread of its own: its work is not that of its callers.
import { parentPort, workerData } from 'node:worker_threads'
import { startKvServer } from '@bowline/sessions/testing'

const { url, token } = await startKvServer({ redisUrl: String(workerData) })
parentPort?.postMessage({ url, token })
