%% Erlang's distribution: a `gen_server`, `gen_server:call` to ask, `gen_server:cast` to tell, `erlang:monitor` to watch.
-module(side).
-behaviour(gen_server).
-export([server/1, client/1, init/1, handle_call/3, handle_cast/2]).

-define(ASKERS, 64).

server(Address) ->
    {ok, _} = gen_server:start({local, counter}, ?MODULE, [], []),
    io:format("ready ~s~n", [Address]),
    until_input_ends(),
    halt().

until_input_ends() ->
    case io:get_line("") of
        eof -> ok;
        _ -> until_input_ends()
    end.

init([]) -> {ok, {0, 0}}.

handle_call({successor, Number}, _, State) -> {reply, Number + 1, State};
handle_call(told, _, State) -> {reply, State, State}.

handle_cast({add, Number}, {Count, Sum}) -> {noreply, {Count + 1, Sum + Number}}.

client(Server) ->
    pong = net_adm:ping(Server),
    Counter = rpc:call(Server, erlang, whereis, [counter]),
    true = is_pid(Counter),
    io:format("ready~n"),
    commands(Counter),
    halt().

commands(Counter) ->
    case io:get_line("") of
        eof -> ok;
        Line ->
            command(string:lexemes(string:trim(Line), " "), Counter),
            commands(Counter)
    end.

command(["ask", Count], Counter) ->
    Times = lists:sort([ask(Counter, Number) || Number <- lists:seq(0, list_to_integer(Count) - 1)]),
    io:format("~b~n", [lists:nth(length(Times) div 2 + 1, Times)]);
command(["asks", Count], Counter) ->
    Each = list_to_integer(Count),
    All = Each * ?ASKERS,
    Me = self(),
    Start = now_ns(),
    Askers = [spawn_link(fun() -> Me ! {self(), asks(Counter, Asker * Each, Each, 0)} end)
              || Asker <- lists:seq(0, ?ASKERS - 1)],
    Sum = lists:sum([receive {Asker, Part} -> Part end || Asker <- Askers]),
    Time = now_ns() - Start,
    Sum = All * (All + 1) div 2,
    io:format("~b~n", [Time div All]);
command(["tell", Text], Counter) ->
    Count = list_to_integer(Text),
    {Count0, Sum0} = gen_server:call(Counter, told, infinity),
    Start = now_ns(),
    tell(Counter, 0, Count),
    {Count1, Sum1} = gen_server:call(Counter, told, infinity),
    Time = now_ns() - Start,
    Count = Count1 - Count0,
    Sum = Count * (Count - 1) div 2,
    Sum = Sum1 - Sum0,
    io:format("~b~n", [Time div Count]);
command(["watch"], Counter) ->
    Watch = monitor(process, Counter),
    %% The answer comes after the monitor.
    _ = gen_server:call(Counter, told),
    io:format("watching~n"),
    receive {'DOWN', Watch, process, _, noconnection} -> ok end,
    io:format("told~n").

ask(Counter, Number) ->
    Start = now_ns(),
    Answer = gen_server:call(Counter, {successor, Number}, infinity),
    Time = now_ns() - Start,
    Answer = Number + 1,
    Time.

asks(_, _, 0, Sum) -> Sum;
asks(Counter, Number, Left, Sum) ->
    asks(Counter, Number + 1, Left - 1, Sum + gen_server:call(Counter, {successor, Number}, infinity)).

tell(_, Count, Count) -> ok;
tell(Counter, Number, Count) ->
    gen_server:cast(Counter, {add, Number}),
    tell(Counter, Number + 1, Count).

now_ns() -> erlang:monotonic_time(nanosecond).
