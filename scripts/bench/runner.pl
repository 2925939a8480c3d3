# Runs programs and measures them. Inside a lab: `perl runner.pl FOLDER`, one request a line on stdin, one answer a line
# on stdout. Perl, since a stock Debian has it and Node.js tells neither the CPU time nor the peak memory of a child.
#
# Request:  MODE 1e JOB 1e JOB ...   JOB: stdin 1f name=value 1f ... 1f 1f word 1f ...   (numbers: the separating byte)
# Answer:   wall microseconds, CPU microseconds (children included), status, peak memory in kB
# MODE `time` starts all jobs at once and waits for the last; `memory` runs the first and watches it.
use strict;
use warnings;
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC usleep);
use POSIX ();

my $folder = shift;
my $WAIT4 = (POSIX::uname())[4] eq 'aarch64' ? 260 : 61;
$| = 1;

sub start {
  my ($job, $number, $gate) = @_;
  my @words = split /\x1f/, $job, -1;
  my $input = shift @words;
  open my $in, '>', "$folder/in.$number" or die "in.$number: $!";
  print $in $input;
  close $in;
  my %env;
  while ((my $pair = shift @words) ne '') { my ($name, $value) = split /=/, $pair, 2; $env{$name} = $value }
  my $pid = fork // die "fork: $!";
  return $pid if $pid;
  open STDIN, '<', "$folder/in.$number" or POSIX::_exit(126);
  open STDOUT, '>', "$folder/out.$number" or POSIX::_exit(126);
  open STDERR, '>', "$folder/err.$number" or POSIX::_exit(126);
  %ENV = %env;
  sysread $gate, my $go, 1;
  exec { $words[0] } @words or POSIX::_exit(127);
}

# wait4(2): exactly this child's time, and that of those it has waited for.
sub reap {
  my ($pid) = @_;
  my ($status, $usage) = (pack('i', 0), "\0" x 144);
  my $done = syscall $WAIT4, $pid, $status, 0, $usage;
  die "wait4: $!" if $done != $pid;
  my ($us, $uu, $ss, $su) = unpack 'q4', $usage;
  return (($us + $ss) * 1_000_000 + $uu + $su, unpack 'i', $status);
}


while (my $request = <STDIN>) {
  chomp $request;
  my ($mode, @jobs) = split /\x1e/, $request, -1;
  s/\x1d/\n/g for @jobs;
  pipe my $gate, my $opener or die "pipe: $!";
  my @pids = map { start($jobs[$_], $_, $gate) } 0 .. $#jobs;
  usleep(2000 + 200 * @pids) if @pids > 1; # all of them stand at the gate
  my $begun = clock_gettime(CLOCK_MONOTONIC);
  syswrite $opener, 'x' x @pids;
  my ($cpu, $failed, $memory) = (0, 0, 0);
  if ($mode eq 'memory') {
    while (1) {
      open my $file, '<', "/proc/$pids[0]/status" or last;
      local $/;
      my $text = <$file> // last;
      last if $text =~ /^State:\s+Z/m;
      next if $text =~ /^Name:\s+perl/m; # before its exec
      $memory = $1 if $text =~ /^VmHWM:\s+(\d+)/m && $1 > $memory;
    }
  }
  for my $pid (@pids) {
    my ($used, $status) = reap($pid);
    $cpu += $used;
    $failed = $status if $status;
  }
  my $wall = clock_gettime(CLOCK_MONOTONIC) - $begun;
  printf "%d %d %d %d\n", $wall * 1_000_000, $cpu, $failed, $memory;
}
