/** Output of `bowline-bridge --help`. */
export const helpText = `Hands work to other agents: an MCP server on stdin and stdout, or over HTTP.

Usage: bowline-bridge [flags] [check | ask AGENT TEXT]

  check                 Start, print a line for each agent, and stop; exit 1 if one cannot be used
  ask AGENT TEXT        Print the agent's answer while it comes; exit 1 with the reason if it is not completed

  --config FILE         Default: bowline.bridge.ts, .js or .json in this folder
  --worker ID=COMMAND   An agent in a process of its own; may be given several times
  --default-agent ID    Agent for requests that name none
  --http HOST:PORT      Serve http://HOST:PORT/mcp. Without HOST: 127.0.0.1
  --allow-host NAME     A further name under which it may be asked over HTTP; several times
  --log-level LEVEL     debug, info, warn, error or silent (info; of ask: error)
  --help, --version

BOWLINE_BRIDGE_CONFIG and BOWLINE_LOG_LEVEL stand for their flags. BOWLINE_BRIDGE_TOKEN is what callers over HTTP
must show as their bearer token; it must be set where others than this machine can reach the address.

Exit codes: 0 clean, 1 failure, 2 bad configuration, 130 second interrupt

  bowline-bridge --worker reviewer="node reviewer.js" check
  bowline-bridge ask reviewer "Is this right?"
`
